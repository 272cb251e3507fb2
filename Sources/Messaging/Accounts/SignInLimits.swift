/// What bounds guessing: how often one address may sign in or register, and how often one account may fail to.
///
/// Each node counts for itself.
struct SignInLimits: Sendable {
    private let attempts: RateLimiter<String>?
    private let failures: RateLimiter<String>?

    /// - Parameter isOn: false for load tests: nothing is bounded.
    init(isOn: Bool) {
        attempts = isOn ? RateLimiter(TokenBucket.Rate(tokens: 60, per: .seconds(60))) : nil
        failures = isOn ? RateLimiter(TokenBucket.Rate(tokens: 5, per: .seconds(60))) : nil
    }

    /// Counts an attempt of that address, whatever becomes of it.
    ///
    /// - Throws: `rate_limited`.
    func takeSignIn(from address: String) throws(ProtocolError) {
        guard let wait = attempts?.take(address) else { return }
        throw .rateLimited("Too many sign-ins from this address.", retryAfter: wait)
    }

    /// Does what a password guards, and counts it against the account where the password was wrong. It is counted
    /// beforehand and given back, so that many guesses at once are no more than many in a row.
    ///
    /// - Throws: `rate_limited`, or what `work` throws.
    func countingFailures<Value>(
        of account: String, _ work: () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        if let wait = failures?.take(account) {
            throw .rateLimited("Too many wrong passwords for this account.", retryAfter: wait)
        }
        do throws(ProtocolError) {
            let value = try await work()
            failures?.giveBack(account)
            return value
        } catch {
            if error.code != .invalidCredentials { failures?.giveBack(account) }
            throw error
        }
    }
}

extension ProtocolError {
    /// - Parameter retryAfter: is told in whole seconds, at least one.
    static func rateLimited(_ why: String, retryAfter: Duration) -> ProtocolError {
        let seconds = max(1, Int((retryAfter / .seconds(1)).rounded(.up)))
        return ProtocolError(
            .rateLimited, "\(why) Try again in \(seconds) s.",
            data: [.init(name: "retry_after", value: .integer(seconds))])
    }
}
