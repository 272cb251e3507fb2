internal import Metrics

/// The bounds of one client's share: guessing by address, account and session; sends, other changes, searches and
/// requests of any kind by user.
///
/// Each node counts for itself.
struct RateLimits: Sendable {
    private let signIns: RateLimiter<AddressKey>
    private let passwords: RateLimiter<PasswordAttempts>
    private let sends: RateLimiter<ID>
    private let changes: RateLimiter<ID>
    private let searches: RateLimiter<ID>
    private let mails: RateLimiter<AddressKey>
    private let guestMedia: RateLimiter<AddressKey>
    private let userRequests: RateLimiter<ID>
    private let addressRequests: RateLimiter<AddressKey>
    private let typing = RateLimiter<Typist>(TokenBucket.Rate(tokens: 1, per: .seconds(2)))
    private let now: @Sendable () -> ContinuousClock.Instant
    private let isOn: Bool
    private let counters: [Limit: Counter]
    private let delays: Counter

    /// The longest time that a request waits for its user's or address's earlier requests.
    private static let longestDelay = Duration.seconds(10)

    private enum Limit: String, CaseIterable {
        case signIns = "sign_ins"
        case failedLogins = "failed_logins"
        case sends
        case changes
        case requests
        case searches
        case mails
        case guestMedia = "guest_media"
    }

    /// - Parameters:
    ///   - rates: nil for load tests: nothing is bounded.
    ///   - metrics: what counts the requests that were refused.
    init(_ rates: Rates?, metrics: any MetricsFactory = MetricsSystem.factory) {
        counters = Dictionary(
            uniqueKeysWithValues: Limit.allCases.map {
                let dimensions = [("limit", $0.rawValue)]
                return ($0, Counter(label: "postline_rate_limited_total", dimensions: dimensions, factory: metrics))
            })
        let given = rates ?? Rates()
        signIns = RateLimiter(TokenBucket.Rate(tokens: Double(given.signInsPerMinute), per: .seconds(60)))
        passwords = RateLimiter(TokenBucket.Rate(tokens: Double(given.failedLoginsPerMinute), per: .seconds(60)))
        let writes = TokenBucket.Rate(
            tokens: Double(given.sendsPerSecond), per: .seconds(1),
            burst: Double(max(given.sendBurst, given.sendsPerSecond)))
        sends = RateLimiter(writes)
        changes = RateLimiter(writes)
        searches = RateLimiter(TokenBucket.Rate(tokens: Double(given.searchesPerSecond), per: .seconds(1)))
        mails = RateLimiter(TokenBucket.Rate(tokens: Double(given.mailRequestsPerHour), per: .seconds(3_600)))
        guestMedia = RateLimiter(TokenBucket.Rate(tokens: Double(given.guestMediaBytesPerDay), per: .seconds(86_400)))
        // Ten requests for each send that a user may make are more than any app needs.
        userRequests = RateLimiter(
            TokenBucket.Rate(tokens: writes.tokens * 10, per: .seconds(1), burst: writes.burst * 20))
        addressRequests = RateLimiter(TokenBucket.Rate(tokens: 1_000, per: .seconds(1), burst: 20_000))
        delays = Counter(label: "postline_requests_delayed_total", factory: metrics)
        now = given.now
        isOn = rates != nil
    }

    /// Waits until a client may have its next requests looked at: a user, or an address where nobody is signed in. Requests
    /// that are refused count too.
    ///
    /// A wait ends after 10 s. Then a user is refused, so that many connections of one user come to no more than their
    /// share; an address is not, since many users may share it.
    ///
    /// - Throws: `rate_limited`; `timeout` if the request is given up while it waits.
    func waitForTurn(of user: ID?, at address: AddressKey, requests: Int = 1) async throws(ProtocolError) {
        guard isOn else { return }
        let (cost, longest) = (Double(requests), Self.longestDelay)
        let wait =
            if let user {
                userRequests.reserve(user, cost: cost, longest: longest, now: now())
            } else {
                addressRequests.reserve(address, cost: cost, longest: longest, now: now())
            }
        guard let wait else { return }
        delays.increment(by: requests)
        do {
            try await Task.sleep(for: min(wait, longest))
        } catch {
            throw .timeout
        }
        if user != nil, wait > longest {
            counters[.requests]?.increment(by: requests)
            throw .rateLimited("Too many of your requests wait.", retryAfter: wait)
        }
    }

    /// Counts an attempt of that address, whatever becomes of it.
    ///
    /// - Throws: `rate_limited`.
    func takeSignIn(from address: String) throws(ProtocolError) {
        try take(AddressKey(address), from: signIns, .signIns, "Too many sign-ins from this address.")
    }

    /// Counts a mail that was asked for from that address, whoever's it is.
    ///
    /// - Throws: `rate_limited`.
    func takeMail(from address: String) throws(ProtocolError) {
        try take(AddressKey(address), from: mails, .mails, "Too many mails were asked for from this address.")
    }

    /// Counts the bytes of a picture that a guest promises to upload from that address.
    ///
    /// - Throws: `rate_limited`.
    func takeGuestMedia(bytes: Int, from address: String) throws(ProtocolError) {
        try take(
            AddressKey(address), from: guestMedia, .guestMedia, cost: Double(bytes),
            "Guests have uploaded too many pictures from this address.")
    }

    /// - Throws: `rate_limited`.
    func takeSend(of user: ID) throws(ProtocolError) {
        try take(user, from: sends, .sends, "You send too quickly.")
    }

    /// - Parameter cost: how many changes it counts as.
    /// - Throws: `rate_limited`.
    func takeChange(of user: ID, cost: Int = 1) throws(ProtocolError) {
        try take(user, from: changes, .changes, cost: Double(cost), "You change things too quickly.")
    }

    /// - Throws: `rate_limited`.
    func takeSearch(of user: ID) throws(ProtocolError) {
        try take(user, from: searches, .searches, "You search too quickly.")
    }

    /// Whether a user's typing in a conversation is passed on now, and it may: at most once every 2 s, with limits or
    /// without.
    ///
    /// - Parameter check: whether the others may know.
    /// - Throws: what `check` throws; it does not count then.
    func tellsTyping(
        of user: ID, in conversation: ID, _ check: () async throws(ProtocolError) -> Bool
    ) async throws(ProtocolError) -> Bool {
        let typist = Typist(user: user, conversation: conversation)
        guard typing.take(typist, now: now()) == nil else { return false }
        do throws(ProtocolError) {
            return try await check()
        } catch {
            typing.giveBack(typist)
            throw error
        }
    }

    private struct Typist: Hashable, Sendable {
        let user: ID
        let conversation: ID
    }

    private func take<Key>(
        _ key: Key, from limiter: RateLimiter<Key>, _ limit: Limit, cost: Double = 1, _ why: String
    ) throws(ProtocolError) {
        guard isOn, let wait = limiter.take(key, cost: cost, now: now()) else { return }
        counters[limit]?.increment()
        throw .rateLimited(why, retryAfter: wait)
    }

    /// Does what a password guards, and counts it where the password was wrong. It is counted beforehand and given
    /// back, so that many guesses at once are no more than many in a row.
    ///
    /// - Throws: `rate_limited`, or what `work` throws.
    func counting<Value>(
        _ attempts: PasswordAttempts, _ work: () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        guard isOn else { return try await work() }
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

/// How much of each there may be, on one node.
public struct Rates: Sendable {
    /// Wrong passwords for one email address, and passwords checked in one session.
    public var failedLoginsPerMinute = 5
    /// Sign-ins, registrations, guests and upgrades of one address.
    public var signInsPerMinute = 60
    /// Messages of one user, over time; and its other changes, counted apart.
    public var sendsPerSecond = 20
    /// Messages of one user at once; and its other changes.
    public var sendBurst = 100
    /// Searches of one user.
    public var searchesPerSecond = 5
    /// Mails of one kind to one email address, on all nodes.
    public var mailsPerHour = 5
    /// Mails that are asked for from one address.
    public var mailRequestsPerHour = 30
    /// Bytes of pictures that guests upload from one address.
    public var guestMediaBytesPerDay = 256 << 20
    /// The time by which what was used up comes back.
    public var now: @Sendable () -> ContinuousClock.Instant = { .now }

    public init() {}
}

extension ProtocolError {
    /// - Parameter retryAfter: is told in whole seconds, at least one.
    static func rateLimited(_ why: String, retryAfter: Duration) -> ProtocolError {
        let seconds = max(1, Int(clamping: (retryAfter + .nanoseconds(999_999_999)).count(of: .seconds(1))))
        return ProtocolError(
            .rateLimited, "\(why) Try again in \(seconds) s.",
            data: [.init(name: "retry_after", value: .integer(seconds))])
    }
}
