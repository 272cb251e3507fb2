internal import Postgres

/// The methods as compatibility endpoints call them (`docs/http.md`): the objects of their results have members
/// that the protocol does not have.
extension Operation {
    /// The method of that name as a compatibility endpoint calls it: the protocol's own unless it differs.
    static func compatible(_ method: String) throws(ProtocolError) -> Operation {
        if let operation = compatible[method] { return operation }
        return try named(method)
    }

    private static let compatible = Dictionary(
        uniqueKeysWithValues: [compatibleGet, compatibleSave, compatibleList].compactMap(\.self).map { ($0.method, $0) }
    )

    /// With `version_second`, and `first_name_length` where the name is not split at its first blank.
    private static let compatibleGet = byMethod["me.get"]?.performing { session, _ throws(ProtocolError) in
        try await session.read(Statement("api.compatible_me", "select api.compatible_me()"), [])
    }

    /// Takes `first_name` and `last_name` in place of `full_name`, and answers as ``compatibleGet`` does.
    private static let compatibleSave = byMethod["me.save"]?.performing(taking: nameParts) {
        session, params throws(ProtocolError) in
        let patch = params.patch(without: "if_version")
        let members = patch.members.filter { !nameParts.contains($0.name) }
        return try await session.change(
            Statement(
                "api.save_compatible_me", "select api.save_compatible_me($1::jsonb, $2::bigint, $3, $4)"),
            [JSONObject(members).text, params.digits("if_version")] + nameParts.names.map { params.string($0) })
    }

    /// With `first_name_length` in the profiles of those whose name is not split at its first blank.
    private static let compatibleList = byMethod["conversations.list"]?.performing {
        session, params throws(ProtocolError) in
        try await session.browse(
            Statement("api.compatible_conversations", "select api.compatible_conversations($1::int, $2)"),
            [params.digits("limit"), params.string("before")])
    }

    private static let nameParts = ["first_name", "last_name"].map {
        Parameter($0, .string(.any), .optional, "A part of the full name.")
    }
}
