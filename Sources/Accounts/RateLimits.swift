package import Foundations
package import Metrics
package import WireProtocol

/// The rate limits of clients: password attempts by address, account and session; sends, other changes, searches,
/// blocks and all requests by user; sends and changes by address.
///
/// Each node counts separately.
package struct RateLimits: Sendable {
    private let signIns: RateLimiter<AddressKey>
    private let passwords: RateLimiter<PasswordAttempts>
    private let sends: RateLimiter<ID>
    private let texts: RateLimiter<ID>
    private let guestTexts: RateLimiter<AddressKey>
    private let changes: RateLimiter<ID>
    private let addressWrites: RateLimiter<AddressKey>
    private let searches: RateLimiter<ID>
    private let mails: RateLimiter<AddressKey>
    private let media: RateLimiter<ID>
    private let addressMedia: RateLimiter<AddressKey>
    private let guestMedia: RateLimiter<AddressKey>
    private let userRequests: RateLimiter<ID>
    private let addressRequests: RateLimiter<AddressKey>
    private let typing = RateLimiter<TypingKey>(TokenBucket.Rate(tokens: 1, per: .seconds(2)))
    private let userTyping = RateLimiter<ID>(TokenBucket.Rate(tokens: 2, per: .seconds(1), burst: 10))
    private let blocks = RateLimiter<ID>(TokenBucket.Rate(tokens: 1, per: .seconds(2), burst: 20))
    private let addressTyping = RateLimiter<AddressKey>(TokenBucket.Rate(tokens: 20, per: .seconds(1), burst: 100))
    private let now: @Sendable () -> ContinuousClock.Instant
    private let isEnabled: Bool
    private let counters: [Limit: Counter]
    private let delays: Counter

    /// The longest delay of a request that exceeds the limit of its user or address.
    private static let maxDelay = Duration.seconds(10)

    /// The bytes that count as another request, since parsing takes time too.
    private static let bytesPerRequest = 4_096

    /// The number of users who may write at their full rates at one address. Most users write much less.
    private static let usersPerAddress = 25.0

    private enum Limit: String, CaseIterable {
        case signIns = "sign_ins"
        case failedLogins = "failed_logins"
        case sends
        case textBytes = "text_bytes"
        case changes
        case addressWrites = "address_writes"
        case requests
        case searches
        case blocks
        case typing
        case mails
        case media
        case guestMedia = "guest_media"
    }

    /// - Parameters:
    ///   - rates: nil for load tests without limits.
    ///   - metrics: the factory of the counters of rejected and delayed requests.
    package init(_ rates: Rates?, metrics: any MetricsFactory = MetricsSystem.factory) {
        counters = Dictionary(
            uniqueKeysWithValues: Limit.allCases.map {
                let dimensions = [("limit", $0.rawValue)]
                return ($0, Counter(label: "postline_rate_limited_total", dimensions: dimensions, factory: metrics))
            })
        let effectiveRates = rates ?? Rates()
        signIns = RateLimiter(TokenBucket.Rate(tokens: Double(effectiveRates.signInsPerMinute), per: .seconds(60)))
        passwords = RateLimiter(
            TokenBucket.Rate(tokens: Double(effectiveRates.failedLoginsPerMinute), per: .seconds(60)))
        let writes = TokenBucket.Rate(
            tokens: Double(effectiveRates.sendsPerSecond), per: .seconds(1),
            burst: Double(max(effectiveRates.sendBurst, effectiveRates.sendsPerSecond)))
        sends = RateLimiter(writes)
        let textRate = TokenBucket.Rate(
            tokens: Double(effectiveRates.textBytesPerSecond), per: .seconds(1),
            burst: Double(effectiveRates.textBytesPerSecond * 64))
        texts = RateLimiter(textRate)
        guestTexts = RateLimiter(textRate)
        changes = RateLimiter(writes)
        addressWrites = RateLimiter(
            TokenBucket.Rate(
                tokens: writes.tokens * Self.usersPerAddress, per: .seconds(1),
                burst: writes.burst * Self.usersPerAddress))
        searches = RateLimiter(TokenBucket.Rate(tokens: Double(effectiveRates.searchesPerSecond), per: .seconds(1)))
        mails = RateLimiter(TokenBucket.Rate(tokens: Double(effectiveRates.mailRequestsPerHour), per: .seconds(3_600)))
        let mediaBytes = Double(effectiveRates.mediaBytesPerDay)
        media = RateLimiter(TokenBucket.Rate(tokens: mediaBytes, per: .seconds(86_400)))
        addressMedia = RateLimiter(
            TokenBucket.Rate(tokens: mediaBytes * Self.usersPerAddress, per: .seconds(86_400)))
        guestMedia = RateLimiter(
            TokenBucket.Rate(tokens: Double(effectiveRates.guestMediaBytesPerDay), per: .seconds(86_400)))
        // Ten requests for each allowed send are more than any app needs.
        userRequests = RateLimiter(
            TokenBucket.Rate(tokens: writes.tokens * 10, per: .seconds(1), burst: writes.burst * 20))
        addressRequests = RateLimiter(TokenBucket.Rate(tokens: 1_000, per: .seconds(1), burst: 5_000))
        delays = Counter(label: "postline_requests_delayed_total", factory: metrics)
        now = effectiveRates.now
        isEnabled = rates != nil
    }

    /// Counts a request of a user, or of an address without a signed-in user, and delays it if they exceed the limit.
    /// Each 4 KiB count as another request.
    ///
    /// A delay ends after 10 s. Then a user's request is rejected, so that more connections do not get more requests.
    /// An address is not rejected, since many users may share it; its delays end after 5 to 10 s, so that its requests
    /// do not all run at once.
    ///
    /// - Parameter canWait: false to reject instead of delaying.
    /// - Returns: True if the request was delayed. Many delays may end at the same moment.
    /// - Throws: `rate_limited`; `timeout` if the task is cancelled during the delay.
    @discardableResult
    package func admitRequest(
        of user: ID?, at address: AddressKey, bytes: Int = 0, canWait: Bool = true
    ) async throws(ProtocolError) -> Bool {
        guard let wait = reserveRequests(1 + bytes / Self.bytesPerRequest, of: user, at: address) else { return false }
        if canWait {
            delays.increment()
            do {
                try await Task.sleep(for: wait < Self.maxDelay ? wait : Self.maxDelay * Double.random(in: 0.5...1))
            } catch {
                throw .timeout
            }
        }
        if !canWait || user != nil && wait > Self.maxDelay {
            counters[.requests]?.increment()
            throw .rateLimited("Too many of your requests wait.", retryAfter: wait)
        }
        return true
    }

    /// Counts more requests of a user, or of an address, without delaying them.
    package func countRequests(_ count: Int, of user: ID?, at address: AddressKey) {
        guard count > 0 else { return }
        _ = reserveRequests(count, of: user, at: address)
    }

    /// Returns the time until these requests are within the limit, or nil if they are.
    private func reserveRequests(_ count: Int, of user: ID?, at address: AddressKey) -> Duration? {
        guard isEnabled else { return nil }
        if let user {
            return userRequests.reserve(user, cost: Double(count), maxWait: Self.maxDelay, now: now())
        } else {
            return addressRequests.reserve(address, cost: Double(count), maxWait: Self.maxDelay, now: now())
        }
    }

    /// Counts a sign-in attempt of an address, whatever its outcome.
    ///
    /// - Throws: `rate_limited`.
    package func takeSignIn(from address: String) throws(ProtocolError) {
        try take(AddressKey(address), from: signIns, .signIns, "Too many sign-ins from this address.")
    }

    /// Counts a requested mail by the address of the client.
    ///
    /// - Throws: `rate_limited`.
    package func takeMail(from address: String) throws(ProtocolError) {
        try take(AddressKey(address), from: mails, .mails, "Too many mails were requested from this address.")
    }

    /// Counts the bytes of a picture that a user announces, by user and by the address of the client.
    ///
    /// - Parameter isGuest: true for a guest: all guests of one address share a smaller limit.
    /// - Throws: `rate_limited`.
    package func takeMedia(of user: ID, bytes: Int, from address: String, isGuest: Bool) throws(ProtocolError) {
        let (address, cost) = (AddressKey(address), Double(bytes))
        if isGuest {
            try take(
                address, from: guestMedia, .guestMedia, cost: cost,
                "Guests have uploaded too many pictures from this address.")
        }
        try take(user, from: media, .media, cost: cost, "You have uploaded too many pictures today.")
        try take(
            address, from: addressMedia, .media, cost: cost, "Too many pictures were uploaded from this address.")
    }

    /// Counts a send, by user and by address, and the bytes of its text, since messages are kept for ever.
    ///
    /// - Parameter isGuest: true for a guest: all guests of one address share the bytes of one user.
    /// - Throws: `rate_limited`.
    package func takeSend(of user: ID, bytes: Int, at address: AddressKey, isGuest: Bool) throws(ProtocolError) {
        try take(user, from: sends, .sends, "You send too quickly.")
        try takeWrite(bytes: bytes, of: user, at: address, isGuest: isGuest)
    }

    private func takeWrite(
        cost: Double = 1, bytes: Int, of user: ID, at address: AddressKey, isGuest: Bool
    ) throws(ProtocolError) {
        try take(
            address, from: addressWrites, .addressWrites, cost: cost,
            "The users at your address send and change too much.")
        try take(user, from: texts, .textBytes, cost: Double(bytes), "You send too much text.")
        guard isGuest else { return }
        try take(
            address, from: guestTexts, .textBytes, cost: Double(bytes), "Guests at your address send too much text.")
    }

    /// Counts a change, by user and by address, and the bytes of its parameters, since versions of messages and
    /// profiles are written too.
    ///
    /// - Parameters:
    ///   - cost: the number of changes that it counts as.
    ///   - addressCost: the number that it counts as for the address; nil for `cost`.
    ///   - isGuest: true for a guest, as in ``takeSend(of:bytes:at:isGuest:)``.
    /// - Throws: `rate_limited`.
    package func takeChange(
        of user: ID, cost: Int = 1, addressCost: Int? = nil, bytes: Int = 0, at address: AddressKey, isGuest: Bool
    ) throws(ProtocolError) {
        try take(user, from: changes, .changes, cost: Double(cost), "You change things too quickly.")
        try takeWrite(cost: Double(addressCost ?? cost), bytes: bytes, of: user, at: address, isGuest: isGuest)
    }

    /// Counts a piece of a streaming message as a quarter of a change, and the bytes of its text. An answer that is
    /// generated may have 50 pieces per second.
    ///
    /// - Parameter isGuest: true for a guest, as in ``takeSend(of:bytes:at:isGuest:)``.
    /// - Throws: `rate_limited`.
    package func takePiece(of user: ID, bytes: Int, at address: AddressKey, isGuest: Bool) throws(ProtocolError) {
        let cost = 0.25
        try take(user, from: changes, .changes, cost: cost, "You append to messages too quickly.")
        try takeWrite(cost: cost, bytes: bytes, of: user, at: address, isGuest: isGuest)
    }

    /// Counts a search.
    ///
    /// - Throws: `rate_limited`.
    package func takeSearch(of user: ID) throws(ProtocolError) {
        try take(user, from: searches, .searches, "You search too quickly.")
    }

    /// Counts a change of a block, which makes the sessions of both users read their view again.
    ///
    /// - Throws: `rate_limited`.
    package func takeBlock(of user: ID) throws(ProtocolError) {
        try take(user, from: blocks, .blocks, "You block and unblock too quickly.")
    }

    /// Counts a typing notice, at most one per user and conversation every 2 s, even with limits disabled. Each goes to
    /// all members, so that a user and an address have few more.
    ///
    /// - Parameter check: returns true if the notice may be published.
    /// - Returns: true if the notice is to be published.
    /// - Throws: the error of `check`; the notice does not count then.
    package func takeTyping(
        of user: ID, in conversation: ID, at address: AddressKey, _ check: () async throws(ProtocolError) -> Bool
    ) async throws(ProtocolError) -> Bool {
        let key = TypingKey(user: user, conversation: conversation)
        guard typing.take(key, now: now()) == nil else { return false }
        if isEnabled {
            guard userTyping.take(user, now: now()) == nil, addressTyping.take(address, now: now()) == nil else {
                counters[.typing]?.increment()
                return false
            }
        }
        do throws(ProtocolError) {
            return try await check()
        } catch {
            typing.giveBack(key)
            throw error
        }
    }

    private struct TypingKey: Hashable, Sendable {
        let user: ID
        let conversation: ID
    }

    private func take<Key>(
        _ key: Key, from limiter: RateLimiter<Key>, _ limit: Limit, cost: Double = 1, _ message: String
    ) throws(ProtocolError) {
        guard isEnabled, let wait = limiter.take(key, cost: cost, now: now()) else { return }
        counters[limit]?.increment()
        throw .rateLimited(message, retryAfter: wait)
    }

    /// Performs a password check and counts wrong passwords. The attempt is counted first and given back on success, so
    /// that concurrent guesses do not exceed the limit.
    ///
    /// - Throws: `rate_limited`, or the error of `work`.
    package func withPasswordLimit<Value>(
        _ attempts: PasswordAttempts, _ work: () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        guard isEnabled else { return try await work() }
        try take(attempts, from: passwords, .failedLogins, attempts.refusal)
        do throws(ProtocolError) {
            let value = try await work()
            if !attempts.countsSuccess { passwords.giveBack(attempts) }
            return value
        } catch {
            if error.code != .invalidCredentials { passwords.giveBack(attempts) }
            throw error
        }
    }
}

/// The rate limits of one node.
package struct Rates: Sendable {
    /// Wrong passwords for one email address, and passwords checked in one session.
    package var failedLoginsPerMinute = 5
    /// Sign-ins, registrations, guests and upgrades of one address.
    package var signInsPerMinute = 60
    /// Messages of one user over time. Other changes have a limit of the same size.
    package var sendsPerSecond = 20
    /// Messages of one user at once. Other changes have a limit of the same size.
    package var sendBurst = 100
    /// Bytes of messages of one user, and of all guests at one address, over time; 64 times as many at once.
    package var textBytesPerSecond = 8_192
    /// Searches of one user.
    package var searchesPerSecond = 5
    /// Mails of one kind to one email address, on all nodes.
    package var mailsPerHour = 5
    /// Mails that are requested from one address.
    package var mailRequestsPerHour = 30
    /// Bytes of files that one user uploads. All users of one address may upload as many as 25 users.
    package var mediaBytesPerDay = 2 << 30
    /// Bytes of files that guests upload from one address.
    package var guestMediaBytesPerDay = 256 << 20
    /// The clock, which tests replace.
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }

    package init() {}
}
