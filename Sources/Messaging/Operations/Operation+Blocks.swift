import Accounts
import Postgres
import WireProtocol

extension Operation {
    /// The methods `users.*`, by which users block others.
    static let blocks = [block, unblock, listBlocked]

    private static let blockedUsers: Schema = .object([
        ("user_ids", .array(of: .uuid).described("The users whom the caller blocks, the first one first."))
    ])

    private static let block = Operation(
        "users.block", .user, "Blocks a user: neither can write to the other, or see the other's presence.",
        [Parameter("user_id", .uuid, "Another user.")], result: blockedUsers, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.limits.takeBlock(of: session.token.user)
        return try await session.change(
            Statement("api.block_user", "select api.block_user($1::uuid)"), [params.uuid("user_id")])
    }

    private static let unblock = Operation(
        "users.unblock", .user, "Ends the caller's block of a user.",
        [Parameter("user_id", .uuid, "A user whom the caller blocks. Nothing changes for another.")],
        result: blockedUsers
    ) { session, params throws(ProtocolError) in
        try await session.limits.takeBlock(of: session.token.user)
        return try await session.change(
            Statement("api.unblock_user", "select api.unblock_user($1::uuid)"), [params.uuid("user_id")])
    }

    private static let listBlocked = Operation(
        "users.blocked", .user, "Lists the users whom the caller blocks.", result: blockedUsers
    ) { session, _ throws(ProtocolError) in
        try await session.readPreferringStandby(Statement("api.blocked_users", "select api.blocked_users()"), [])
    }
}
