internal import Crypto
internal import Postgres

/// What opens an event stream once, in place of an access token: a browser's EventSource sends no header, and a token does
/// not belong into a URL, which logs keep.
///
/// The same ticket resumes the stream until the token expires, for a request that has the stream's resumption key: the
/// client finds it in the ids of the events, and `EventSource` sends the last id in a header, which logs do not keep.
///
/// The database keeps of a ticket its hash, and of the token what the ticket alone opens, so that any node can take it.
public struct StreamTickets: Sendable {
    /// For how long a ticket is good, in seconds (`sql/functions/accounts/tickets.sql`).
    public static let seconds = 30

    /// The token for which a ticket was issued, and the key of its stream.
    public struct Entry: Sendable {
        public let accessToken: String

        /// The key that resumes the stream.
        public let resumption: String
    }

    let accounts: Accounts
    let database: Database

    /// A new ticket for the bearer of a token.
    ///
    /// - Throws: as `session.authenticate` does.
    public func issue(for accessToken: String) async throws(ProtocolError) -> String {
        let token = try await accounts.verify(accessToken: accessToken)
        let secret = SymmetricKey(size: .bits256)
        let sealed: [UInt8]
        do {
            guard let box = try AES.GCM.seal(Array(accessToken.utf8), using: Self.key(of: secret)).combined else {
                throw CryptoKitError.incorrectParameterSize
            }
            sealed = Array(box)
        } catch {
            throw .fault("an access token could not be sealed: \(error)")
        }
        let ticket = unsafe secret.withUnsafeBytes { unsafe Array($0) }
        _ = try await database.rows(
            Functions.store, [Self.hash(of: ticket), "\(token.user)", sealed.hexadecimal, "\(token.expires)"],
            as: .accounts, client: token.user.description)
        return ticket.hexadecimal
    }

    /// Redeems a ticket. Nothing opens with it again without the resumption key.
    ///
    /// - Parameters:
    ///   - resumption: the resumption key that the client has, if any.
    ///   - address: where the client is.
    /// - Throws: `invalid_token` where it is none, or none any more.
    public func redeem(
        _ ticket: String, resumption: String?, from address: String
    ) async throws(ProtocolError) -> Entry {
        guard let bytes = [UInt8](hexadecimal: ticket), bytes.count == 32 else { throw .invalidTicket }
        if let entry = try await take(bytes, isUsed: false, from: address) { return entry }
        guard let resumption, let entry = try await take(bytes, isUsed: true, from: address),
            // Digests compare in constant time.
            SHA256.hash(data: Array(entry.resumption.utf8)) == SHA256.hash(data: Array(resumption.utf8))
        else { throw .invalidTicket }
        return entry
    }

    private func take(_ ticket: [UInt8], isUsed: Bool, from address: String) async throws(ProtocolError) -> Entry? {
        let rows = try await database.rows(
            Functions.redeem, [Self.hash(of: ticket), "\(isUsed)"], as: .accounts,
            client: AddressKey(address).description
        )
        guard let sealed = rows.text(0, 0).flatMap({ [UInt8](hexadecimal: $0) }) else { return nil }
        do {
            let token = try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed), using: Self.key(of: SymmetricKey(data: ticket)))
            // Of the token as well, so that the ticket, which logs keep, does not give it.
            let resumption = HMAC<SHA256>.authenticationCode(for: ticket, using: SymmetricKey(data: token))
            return Entry(
                accessToken: String(decoding: token, as: UTF8.self), resumption: resumption.prefix(16).hexadecimal)
        } catch {
            throw .fault("a kept access token could not be opened: \(error)")
        }
    }

    private static func hash(of ticket: [UInt8]) -> String { SHA256.hash(data: ticket).hexadecimal }

    private static func key(of ticket: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: ticket, info: Array("postline stream tickets".utf8), outputByteCount: 32)
    }

    private enum Functions {
        static let store = Statement(
            "accounts.store_ticket", "select accounts.store_ticket($1, $2::uuid, $3, $4::float8)")
        static let redeem = Statement("accounts.redeem_ticket", "select accounts.redeem_ticket($1, $2::boolean)")
    }
}

extension ProtocolError {
    fileprivate static let invalidTicket = ProtocolError(
        .invalidToken, "That is no ticket, or it was used, or is older than \(StreamTickets.seconds) s.")
}
