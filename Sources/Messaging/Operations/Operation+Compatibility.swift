import Postgres
import WireProtocol

/// The variants of methods for compatibility endpoints (`docs/http.md`), whose results have additional members.
extension Operation {
    /// Returns the compatibility variant of a method, or the protocol's own method if there is none.
    ///
    /// - Throws: `unknown_method`.
    static func compatible(_ method: String) throws(ProtocolError) -> Operation {
        if let operation = compatible[method] { return operation }
        return try named(method)
    }

    private static let compatible = Dictionary(
        uniqueKeysWithValues: [compatibleGet, compatibleSave, compatibleList].compactMap(\.self).map { ($0.method, $0) }
    )

    /// `me.get` with `version_second`, and `first_name_length` if the name is not split at its first blank.
    private static let compatibleGet = byMethod["me.get"]?.performing { session, _ throws(ProtocolError) in
        try await session.read(Statement("api.compatible_me", "select api.compatible_me()"), [])
    }

    /// `me.save` with `first_name` and `last_name` in place of `full_name`, and the result of ``compatibleGet``.
    private static let compatibleSave = byMethod["me.save"]?.performing(taking: nameParts) {
        session, params throws(ProtocolError) in
        let patch = params.patch(without: "if_version")
        let members = patch.members.filter { !nameParts.contains($0.name) }
        return try await session.change(
            Statement(
                "api.save_compatible_me", "select api.save_compatible_me($1::jsonb, $2::bigint, $3, $4)"),
            [JSONObject(members).text, params.digits("if_version")] + nameParts.names.map { params.string($0) })
    }

    /// `conversations.list` with `first_name_length` in profiles whose name is not split at its first blank.
    private static let compatibleList = byMethod["conversations.list"]?.performing {
        session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.compatible_conversations", "select api.compatible_conversations($1::int, $2)"),
            [params.digits("limit"), params.string("before")])
    }

    private static let nameParts = ["first_name", "last_name"].map {
        Parameter($0, .string(.any), .optional, "A part of the full name.")
    }
}
