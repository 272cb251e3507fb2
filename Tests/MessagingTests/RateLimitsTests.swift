import Testing

@testable import Messaging

@Suite("What one client may do in a time")
struct RateLimitsTests {
    @Test("row 47: sixty attempts of one address, and another address has its own sixty")
    func addresses() throws {
        let limits = RateLimits(Rates())
        for _ in 0..<60 { try limits.takeSignIn(from: "192.0.2.1") }
        let error = #expect(throws: ProtocolError.self) { try limits.takeSignIn(from: "192.0.2.1") }
        #expect(error?.code == .rateLimited)
        try limits.takeSignIn(from: "192.0.2.2")
    }

    @Test("row 47: five failures of one account, however many are tried at once; what succeeds is not counted")
    func accounts() async throws {
        let limits = RateLimits(Rates())
        for _ in 0..<20 { try await limits.countingFailures(of: "good") { () throws(ProtocolError) in } }
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do throws(ProtocolError) {
                        try await limits.countingFailures(of: "bad") { () throws(ProtocolError) in
                            throw ProtocolError(.invalidCredentials, "Wrong.")
                        }
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .invalidCredentials } == 5)
        #expect(codes.count { $0 == .rateLimited } == 15)
    }

    @Test("a user sends a hundred at once and twenty a second from then on; another user has its own")
    func sends() throws {
        let limits = RateLimits(Rates())
        let (one, other) = (ID.random(), ID.random())
        for _ in 0..<100 { try limits.takeSend(of: one) }
        let error = #expect(throws: ProtocolError.self) { for _ in 0..<50 { try limits.takeSend(of: one) } }
        #expect(error?.code == .rateLimited)
        try limits.takeSend(of: other)
    }

    @Test("a bucket fills at its rate up to its size, and says how long it is until there is a token")
    func bucket() {
        let rate = TokenBucket.Rate(tokens: 20, per: .seconds(1), burst: 100)
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate, now: start)
        for _ in 0..<100 { #expect(bucket.take(rate, now: start) == nil) }
        #expect(bucket.take(rate, now: start) == .milliseconds(50))
        #expect(bucket.take(rate, now: start + .milliseconds(50)) == nil)
        #expect(bucket.take(rate, now: start + .milliseconds(75)) != nil)
        let later = start + .seconds(3600)
        for _ in 0..<100 { #expect(bucket.take(rate, now: later) == nil) }
        #expect(bucket.take(rate, now: later) != nil)
    }

    @Test("keys whose buckets are full again are forgotten")
    func forgotten() {
        let limiter = RateLimiter<Int>(TokenBucket.Rate(tokens: 1, per: .seconds(1)))
        let start = ContinuousClock.now
        for key in 0..<1_024 { #expect(limiter.take(key, now: start) == nil) }
        #expect(limiter.count == 1_024)
        #expect(limiter.take(-1, now: start + .seconds(2)) == nil)
        #expect(limiter.count == 1)
    }

    @Test("off, nothing is bounded")
    func off() throws {
        let limits = RateLimits(nil)
        for _ in 0..<1_000 { try limits.takeSignIn(from: "192.0.2.1") }
    }
}
