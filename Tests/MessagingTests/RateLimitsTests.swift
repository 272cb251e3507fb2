@testable import Accounts
@testable import ChangeFeed
@testable import Foundations
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Rate limits")
struct RateLimitsTests {
    /// Returns limits of one send a second, with a clock that stands still.
    private static func frozen(burst: Int) -> RateLimits {
        var rates = Rates()
        rates.sendsPerSecond = 1
        rates.sendBurst = burst
        let now = ContinuousClock.now
        rates.now = { now }
        return RateLimits(rates)
    }

    private let address = AddressKey("192.0.2.1")

    @Test("row 47: limits sign-ins by address")
    func addresses() throws {
        let limits = RateLimits(Rates())
        for _ in 0..<60 { try limits.takeSignIn(from: "192.0.2.1") }
        let error = #expect(throws: ProtocolError.self) { try limits.takeSignIn(from: "192.0.2.1") }
        #expect(error?.code == .rateLimited)
        try limits.takeSignIn(from: "192.0.2.2")
    }

    // A3
    @Test(
        "charges a change for the members that it touches",
        arguments: [(1, 10), (2, 5), (3, 3), (10, 1), (26, 1)])
    func costs(cost: Int, times: Int) throws {
        let limits = Self.frozen(burst: 10)
        let user = ID.random()
        for _ in 0..<times { try limits.takeChange(of: user, cost: cost, at: address, isGuest: false) }
        let error = #expect(throws: ProtocolError.self) {
            try limits.takeChange(of: user, cost: cost, at: address, isGuest: false)
        }
        #expect(error?.code == .rateLimited)
        try limits.takeChange(of: .random(), cost: cost, at: address, isGuest: false)
    }

    @Test("charges a piece as a quarter of a change")
    func pieces() throws {
        let limits = Self.frozen(burst: 10)
        let user = ID.random()
        for _ in 0..<36 { try limits.takePiece(of: user, bytes: 16, at: address, isGuest: false) }
        try limits.takeChange(of: user, at: address, isGuest: false)
        let error = #expect(throws: ProtocolError.self) {
            try limits.takePiece(of: user, bytes: 16, at: address, isGuest: false)
        }
        #expect(error?.code == .rateLimited)
        try limits.takePiece(of: .random(), bytes: 16, at: address, isGuest: false)
    }

    @Test("limits the typing notices of a user, and of all users at an address")
    func typing() async throws {
        let limits = Self.frozen(burst: 100)
        func notices(of user: ID, at address: AddressKey) async throws -> Int {
            var count = 0
            for _ in 0..<11 where try await limits.takeTyping(of: user, in: .random(), at: address, { true }) {
                count += 1
            }
            return count
        }
        for _ in 0..<10 { #expect(try await notices(of: .random(), at: address) == 10) }
        #expect(try await notices(of: .random(), at: address) == 0)
        #expect(try await notices(of: .random(), at: AddressKey("192.0.2.2")) == 10)
    }

    @Test("row 47: limits sign-ins by IPv6 network of 64 bits")
    func networks() throws {
        let limits = RateLimits(Rates())
        for host in 1...60 { try limits.takeSignIn(from: "2001:db8:1:2::\(host)") }
        let error = #expect(throws: ProtocolError.self) { try limits.takeSignIn(from: "2001:db8:1:2:ffff::1") }
        #expect(error?.code == .rateLimited)
        try limits.takeSignIn(from: "2001:db8:1:3::1")
        // An IPv4-mapped address counts as the IPv4 address.
        for _ in 1...60 { try limits.takeSignIn(from: "::ffff:192.0.2.1") }
        #expect(throws: ProtocolError.self) { try limits.takeSignIn(from: "192.0.2.1") }
    }

    @Test("row 47: counts wrong passwords of sign-ins and sessions separately")
    func apart() async throws {
        let limits = RateLimits(Rates())
        let (one, other) = (ID.random(), ID.random())
        func code(_ attempts: PasswordAttempts, _ code: ErrorCode?) async -> ErrorCode? {
            do throws(ProtocolError) {
                try await limits.withPasswordLimit(attempts) { () throws(ProtocolError) in
                    if let code { throw ProtocolError(code, "Test.") }
                }
                return nil
            } catch {
                return error.code
            }
        }
        for _ in 0..<5 {
            #expect(await code(.signIns(with: one.description), .invalidCredentials) == .invalidCredentials)
        }
        #expect(await code(.signIns(with: one.description), nil) == .rateLimited)
        // In a session each check counts, correct or not, unless it failed for another reason.
        for _ in 0..<20 { #expect(await code(.checks(session: one), .unavailable) == .unavailable) }
        for _ in 0..<5 { #expect(await code(.checks(session: one), nil) == nil) }
        #expect(await code(.checks(session: one), nil) == .rateLimited)
        #expect(await code(.checks(session: other), nil) == nil)
    }

    @Test("row 47: allows five wrong passwords of an account, even concurrently")
    func accounts() async throws {
        let limits = RateLimits(Rates())
        for _ in 0..<20 { try await limits.withPasswordLimit(.signIns(with: "good")) { () throws(ProtocolError) in } }
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do throws(ProtocolError) {
                        try await limits.withPasswordLimit(.signIns(with: "bad")) { () throws(ProtocolError) in
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

    @Test("limits sends by user: 100 at once, then 20 a second")
    func sends() throws {
        let limits = RateLimits(Rates())
        let (one, other) = (ID.random(), ID.random())
        for _ in 0..<100 { try limits.takeSend(of: one, bytes: 1, at: address, isGuest: false) }
        let error = #expect(throws: ProtocolError.self) {
            for _ in 0..<50 { try limits.takeSend(of: one, bytes: 1, at: address, isGuest: false) }
        }
        #expect(error?.code == .rateLimited)
        try limits.takeSend(of: other, bytes: 1, at: address, isGuest: false)
    }

    @Test("limits the sends and changes of all users at an address to those of 25")
    func addressWrites() throws {
        let limits = Self.frozen(burst: 10)
        for _ in 0..<20 {
            for _ in 0..<10 { try limits.takeSend(of: .random(), bytes: 1, at: address, isGuest: false) }
        }
        for _ in 0..<5 { try limits.takeChange(of: .random(), cost: 10, at: address, isGuest: false) }
        let error = #expect(throws: ProtocolError.self) {
            try limits.takeSend(of: .random(), bytes: 1, at: address, isGuest: false)
        }
        #expect(error?.code == .rateLimited)
        try limits.takeSend(of: .random(), bytes: 1, at: AddressKey("192.0.2.2"), isGuest: false)
    }

    @Test("limits the bytes of texts by user, and by address for guests")
    func textBytes() throws {
        let limits = RateLimits(Rates())
        let (one, other) = (ID.random(), ID.random())
        func sendLargeTexts(_ user: ID, _ count: Int, guestAddress: AddressKey? = nil) throws {
            for _ in 0..<count {
                try limits.takeSend(
                    of: user, bytes: 32_768, at: guestAddress ?? address, isGuest: guestAddress != nil)
            }
        }
        try sendLargeTexts(one, 16)
        let error = #expect(throws: ProtocolError.self) { try sendLargeTexts(one, 2) }
        #expect(error?.code == .rateLimited)
        try sendLargeTexts(other, 16)
        for _ in 0..<4 { try sendLargeTexts(.random(), 4, guestAddress: address) }
        #expect(throws: ProtocolError.self) { try sendLargeTexts(.random(), 2, guestAddress: address) }
        try sendLargeTexts(.random(), 4, guestAddress: AddressKey("192.0.2.2"))
        try sendLargeTexts(.random(), 4)
    }

    @Test("fills a bucket at its rate and returns the wait for a token")
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

    @Test("queues reservations up to the longest wait")
    func reservation() {
        let rate = TokenBucket.Rate(tokens: 20, per: .seconds(1), burst: 100)
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate, now: start)
        func wait(_ cost: Double, _ now: ContinuousClock.Instant) -> Duration? {
            bucket.reserve(rate, cost: cost, maxWait: .seconds(2), now: now)
        }
        #expect(wait(100, start) == nil)
        #expect(wait(1, start) == .milliseconds(50))
        #expect(wait(1, start) == .milliseconds(100))
        #expect(wait(1, start + .milliseconds(100)) == .milliseconds(50))
        #expect((wait(38, start + .milliseconds(100)) ?? .zero) > .milliseconds(1_900))
        #expect((wait(2, start + .milliseconds(100)) ?? .zero) > .seconds(2))
        #expect(wait(1, start + .milliseconds(100)) == .seconds(2))
        #expect(wait(1, start + .seconds(3)) == nil)
    }

    @Test("a cancelled request does not run after its delay")
    func cancelled() async throws {
        let limits = Self.frozen(burst: 1)
        let (user, address) = (ID.random(), AddressKey("192.0.2.1"))
        limits.countRequests(110, of: user, at: address)
        let request = Task { try await limits.admitRequest(of: user, at: address) }
        request.cancel()
        await #expect(throws: ProtocolError.timeout) { try await request.value }
        for _ in 0..<20 { try await limits.admitRequest(of: nil, at: address) }
    }

    @Test("removes keys whose buckets are full again")
    func forgotten() {
        let limiter = RateLimiter<Int>(TokenBucket.Rate(tokens: 1, per: .seconds(1)))
        let start = ContinuousClock.now
        for key in 0..<1_024 { #expect(limiter.take(key, now: start) == nil) }
        #expect(limiter.count == 1_024)
        #expect(limiter.take(-1, now: start + .seconds(2)) == nil)
        #expect(limiter.count == 1)
    }

    @Test("bounds the keys, and keeps the exhausted ones in a flood")
    func capacity() {
        let limiter = RateLimiter<Int>(TokenBucket.Rate(tokens: 2, per: .seconds(60)), capacity: 1_000)
        let start = ContinuousClock.now
        for key in 0..<100 { for _ in 0..<2 { #expect(limiter.take(key, now: start) == nil) } }
        for key in 100..<20_000 {
            #expect(limiter.take(key, now: start) == nil)
            #expect(limiter.count <= 1_000)
        }
        for key in 0..<100 { #expect(limiter.take(key, now: start) != nil) }
    }

    @Test("limits nothing if disabled")
    func off() throws {
        let limits = RateLimits(nil)
        for _ in 0..<1_000 { try limits.takeSignIn(from: "192.0.2.1") }
    }
}
