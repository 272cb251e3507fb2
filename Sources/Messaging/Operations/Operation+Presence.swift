internal import Postgres

extension Operation {
    /// The methods `presence.*`.
    static let presence = [getPresence]

    private static let getPresence = Operation(
        "presence.get", .user, "Who of those users is online, as far as the caller may know.",
        [
            Parameter(
                "user_ids", .uuids(1...100),
                "Whose. Of one who is unknown, hides it, or shares no conversation the answer is the same.")
        ],
        result: .object([("presence", .array(of: .presence))])
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.presence", "select api.presence($1::uuid[])"), [params.uuids("user_ids")])
    }
}
