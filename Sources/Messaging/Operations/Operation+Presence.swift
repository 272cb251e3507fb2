import Postgres
import WireProtocol

extension Operation {
    /// The methods `presence.*`.
    static let presence = [getPresence]

    private static let getPresence = Operation(
        "presence.get", .user, "Returns the presence of users, as far as the caller may see it.",
        [
            Parameter(
                "user_ids", .uuids(1...100),
                "The users. The result is the same for users that are unknown, hide their presence or share no conversation."
            )
        ],
        result: .object([("presence", .array(of: .presence))])
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.presence", "select api.presence($1::uuid[])"), [params.uuids("user_ids")])
    }
}
