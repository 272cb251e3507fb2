internal import NIOCore
internal import Postgres

/// Accounts that another server's word leads to.
extension Accounts {
    /// What verifies Apple's tokens.
    ///
    /// - Throws: `forbidden` where this server takes none.
    func requireApple() throws(ProtocolError) -> AppleSignIn {
        try requireBuiltin()
        guard let apple else {
            throw ProtocolError(
                .forbidden, "Nobody signs in with Apple here: the operator has not named an app (APPLE_CLIENT_IDS).")
        }
        return apple
    }

    /// Whom a token of Apple's leads to now; nil where it is new.
    func account(of identity: AppleIdentity) async throws(ProtocolError) -> ID? {
        let rows = try await database.rows(
            Functions.identified, ["apple", identity.subject, identity.email], as: .accounts)
        return rows.id(0, 0)
    }

    /// Takes a token of Apple's, for good: whose account it is, found or made, and what a guest brought to it.
    ///
    /// - Throws: `invalid_token` where the token was used before, or the guest's is no guest's; `invalid_credentials`
    ///   where the account is disabled.
    func enter(
        by identity: AppleIdentity, fullName: String?, guest: RefreshToken?
    ) async throws(ProtocolError) -> (holder: AccountHolder, merged: JSON?) {
        let rows = try await database.rows(
            Functions.enter,
            [
                "apple", identity.subject, identity.email, fullName, identity.hash, String(identity.expires),
                guest?.session.description, guest.map { String($0.generation) }, String(settings.refreshReuseSeconds),
            ], as: .accounts)
        guard rows.count == 1, let user = rows.id(0, 0) else {
            throw .fault("accounts.sign_in_by_identity returned no user")
        }
        return (
            AccountHolder(user: user, passwordHash: rows.text(0, 1)), rows.text(0, 2).flatMap { try? JSON(parsing: $0) }
        )
    }

    /// Makes a tombstone of the user, by a token of Apple's in a password's place.
    func delete(_ user: ID, by identity: AppleIdentity) async throws(ProtocolError) -> ByteBuffer {
        try await database.json(
            Functions.delete,
            [user.description, "apple", identity.subject, identity.hash, String(identity.expires)], as: .accounts)
    }

    /// Brings a guest of another server's into an account of it.
    ///
    /// - Returns: what came over with it: `{"conversations","messages"}`.
    func merge(guestAccessToken text: String, into account: VerifiedToken) async throws(ProtocolError) -> ByteBuffer {
        guard provider == .external else {
            throw ProtocolError(
                .forbidden, "Accounts are kept here: a guest comes along by \"guest_refresh_token\" of auth.login.")
        }
        let guest = try await verify(accessToken: text)
        guard guest.isGuest, !account.isGuest else {
            throw ProtocolError(
                .invalidToken,
                account.isGuest ? "A guest takes no other: sign in first." : "That is no guest's token.",
                data: [.init(name: "field", value: .string("guest_access_token"))])
        }
        return try await database.json(
            Functions.mergeExternal, [account.user.description, guest.user.description], as: .accounts)
    }

    private enum Functions {
        static let identified = Statement(
            "accounts.identified_account", "select accounts.identified_account($1, $2, $3)")
        static let enter = Statement(
            "accounts.sign_in_by_identity",
            """
            select user_id, password_hash, merged from accounts.sign_in_by_identity($1, $2, $3, $4, \
            $5, $6::double precision, $7::uuid, $8::integer, $9::integer)
            """)
        static let delete = Statement(
            "accounts.delete_by_identity",
            "select accounts.delete_by_identity($1::uuid, $2, $3, $4, $5::double precision)")
        static let mergeExternal = Statement(
            "accounts.merge_external_guest", "select accounts.merge_external_guest($1::uuid, $2::uuid)")
    }
}
