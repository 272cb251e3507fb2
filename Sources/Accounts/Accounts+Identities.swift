import DatabaseAccess
package import Foundations
package import NIOCore
import Postgres
package import WireProtocol

/// Sign-in by another server's tokens.
extension Accounts {
    /// Returns the verifier of Apple's tokens.
    ///
    /// - Throws: `forbidden` if Sign in with Apple is not configured.
    package func requireApple() throws(ProtocolError) -> AppleSignIn {
        try requireBuiltin()
        guard let apple else {
            throw ProtocolError(
                .forbidden, "Sign in with Apple is not configured on this server (POSTLINE_APPLE_CLIENT_IDS).")
        }
        return apple
    }

    /// Returns the user that an Apple identity belongs to, or nil if it is new.
    package func account(of identity: AppleIdentity) async throws(ProtocolError) -> ID? {
        let rows = try await database.rows(
            Functions.identifiedAccount, ["apple", identity.subject, identity.email], as: .accounts)
        return rows.id(0, 0)
    }

    /// Redeems an Apple identity token, which can be used once. Finds or creates its account, and merges a guest into
    /// it.
    ///
    /// - Returns: the account, and `{"conversations","messages"}` of a merged guest.
    /// - Throws: `invalid_token` if the token was used before, or `guest` is not a guest's; `invalid_credentials` if
    ///   the account is disabled.
    package func signIn(
        with identity: AppleIdentity, fullName: String?, guest: RefreshToken?
    ) async throws(ProtocolError) -> (account: AuthenticatedAccount, merged: JSON?) {
        let rows = try await database.rows(
            Functions.enterByIdentity,
            [
                "apple", identity.subject, identity.email, fullName, identity.hash, String(identity.expires),
                guest?.session.description, guest.map { String($0.generation) }, String(settings.refreshReuseSeconds),
            ], as: .accounts)
        guard rows.count == 1, let user = rows.id(0, 0) else {
            throw .fault("accounts.sign_in_by_identity returned no user")
        }
        return (
            AuthenticatedAccount(user: user, passwordHash: rows.text(0, 1)),
            rows.text(0, 2).flatMap { try? JSON(parsing: $0) }
        )
    }

    /// Deletes the user, confirmed by an Apple identity token in place of a password. A tombstone stays.
    package func delete(_ user: ID, by identity: AppleIdentity) async throws(ProtocolError) -> ByteBuffer {
        try await database.json(
            Functions.deleteByIdentity,
            [user.description, "apple", identity.subject, identity.hash, String(identity.expires)], as: .accounts)
    }

    /// Merges a guest of the external account provider into an account of it.
    ///
    /// - Returns: `{"conversations","messages"}`.
    /// - Throws: `invalid_token` if the guest's token is not a guest's, or the account is a guest.
    package func merge(guestAccessToken text: String, into account: VerifiedToken) async throws(ProtocolError)
        -> ByteBuffer
    {
        guard provider == .external else {
            throw ProtocolError(
                .forbidden,
                "This server keeps its own accounts: merge a guest with \"guest_refresh_token\" of auth.login.")
        }
        let guest = try await verify(accessToken: text)
        guard guest.isGuest, !account.isGuest else {
            throw ProtocolError(
                .invalidToken,
                account.isGuest ? "A guest cannot merge another guest: sign in first." : "The token is not a guest's.",
                data: [.init(name: "field", value: .string("guest_access_token"))])
        }
        return try await database.json(
            Functions.mergeExternalGuest, [account.user.description, guest.user.description], as: .accounts)
    }

    private enum Functions {
        static let identifiedAccount = Statement(
            "accounts.identified_account", "select accounts.identified_account($1, $2, $3)")
        static let enterByIdentity = Statement(
            "accounts.sign_in_by_identity",
            """
            select user_id, password_hash, merged from accounts.sign_in_by_identity($1, $2, $3, $4, \
            $5, $6::double precision, $7::uuid, $8::integer, $9::integer)
            """)
        static let deleteByIdentity = Statement(
            "accounts.delete_by_identity",
            "select accounts.delete_by_identity($1::uuid, $2, $3, $4, $5::double precision)")
        static let mergeExternalGuest = Statement(
            "accounts.merge_external_guest", "select accounts.merge_external_guest($1::uuid, $2::uuid)")
    }
}
