import Crypto
package import DatabaseAccess
import Foundations
import Postgres
package import WireProtocol

/// Single-use tickets that open event streams in place of access tokens. A browser's `EventSource` sends no header, and
/// a token in a URL would be logged.
///
/// The ticket also resumes the stream until the token expires, if the request has the stream's resumption key. The
/// client finds the key in the event ids, and `EventSource` sends the last id in a header, which is not logged.
///
/// The database stores the ticket's hash and the token encrypted with the ticket, so that any node can redeem it.
package struct StreamTickets: Sendable {
    /// The validity of an unused ticket, in seconds (`sql/functions/accounts/tickets.sql`).
    package static let seconds = 30

    /// The token that a ticket was issued for, and the key of its stream.
    package struct Entry: Sendable {
        package let accessToken: String

        /// The key that resumes the stream.
        package let resumption: String
    }

    package let accounts: Accounts
    package let database: Database

    package init(accounts: Accounts, database: Database) {
        self.accounts = accounts
        self.database = database
    }

    /// Issues a ticket for an access token.
    ///
    /// - Throws: the errors of `session.authenticate`.
    package func issue(for accessToken: String) async throws(ProtocolError) -> String {
        let token = try await accounts.verify(accessToken: accessToken)
        let secret = SymmetricKey(size: .bits256)
        let sealed: [UInt8]
        do {
            guard let box = try AES.GCM.seal(Array(accessToken.utf8), using: Self.key(of: secret)).combined else {
                throw CryptoKitError.incorrectParameterSize
            }
            sealed = Array(box)
        } catch {
            throw .fault("an access token could not be encrypted: \(error)")
        }
        let ticket = unsafe secret.withUnsafeBytes { unsafe Array($0) }
        _ = try await database.rows(
            Functions.keepTicket, [Self.hash(of: ticket), "\(token.user)", sealed.hexadecimal, "\(token.expires)"],
            as: .accounts, of: RequestOwner(token.user.description))
        return ticket.hexadecimal
    }

    /// Redeems a ticket. A used ticket needs the resumption key.
    ///
    /// - Parameters:
    ///   - resumption: the client's resumption key, if any.
    ///   - address: the client's address.
    /// - Throws: `invalid_token` if the ticket is unknown, used or expired.
    package func redeem(
        _ ticket: String, resumption: String?, from address: String
    ) async throws(ProtocolError) -> Entry {
        guard let bytes = [UInt8](hexadecimal: ticket), bytes.count == 32 else { throw .invalidTicket }
        if let entry = try await takeTicket(bytes, isUsed: false, from: address) { return entry }
        guard let resumption, let entry = try await takeTicket(bytes, isUsed: true, from: address),
            // Digests compare in constant time.
            SHA256.hash(data: Array(entry.resumption.utf8)) == SHA256.hash(data: Array(resumption.utf8))
        else { throw .invalidTicket }
        return entry
    }

    private func takeTicket(
        _ ticket: [UInt8], isUsed: Bool, from address: String
    ) async throws(ProtocolError) -> Entry? {
        let rows = try await database.rows(
            Functions.takeTicket, [Self.hash(of: ticket), "\(isUsed)"], as: .accounts,
            of: RequestOwner(AddressKey(address)))
        guard let sealed = rows.text(0, 0).flatMap({ [UInt8](hexadecimal: $0) }) else { return nil }
        do {
            let token = try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed), using: Self.key(of: SymmetricKey(data: ticket)))
            // Derived from the token as well, so that a logged ticket does not disclose it.
            let resumption = HMAC<SHA256>.authenticationCode(for: ticket, using: SymmetricKey(data: token))
            return Entry(
                accessToken: String(decoding: token, as: UTF8.self), resumption: resumption.prefix(16).hexadecimal)
        } catch {
            throw .fault("a stored access token could not be decrypted: \(error)")
        }
    }

    private static func hash(of ticket: [UInt8]) -> String { SHA256.hash(data: ticket).hexadecimal }

    private static func key(of ticket: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: ticket, info: Array("postline stream tickets".utf8), outputByteCount: 32)
    }

    private enum Functions {
        static let keepTicket = Statement(
            "accounts.store_ticket", "select accounts.store_ticket($1, $2::uuid, $3, $4::float8)")
        static let takeTicket = Statement("accounts.redeem_ticket", "select accounts.redeem_ticket($1, $2::boolean)")
    }
}

extension ProtocolError {
    fileprivate static let invalidTicket = ProtocolError(
        .invalidToken, "The ticket is unknown, used, or older than \(StreamTickets.seconds) s.")
}
