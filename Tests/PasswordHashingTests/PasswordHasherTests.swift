@testable import Accounts
import BoundedWait
import DatabaseAccess
import Foundations
import Postgres
import Synchronization
import Testing

@Suite struct PasswordHasherTests {
    private let hasher = PasswordHasher(threads: 2, queueLimit: 16)

    /// Test vectors of the reference implementation (`src/test.c`, version 0x13, Argon2id).
    private static let vectors: [(phc: String, password: String)] = [
        (
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "password"
        ),
        (
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "password"
        ),
        (
            "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
            "password"
        ),
        (
            "$argon2id$v=19$m=65536,t=1,p=1$c29tZXNhbHQ$9qWtwbpyPd3vm1rB1GThgPzZ3/ydHL92zKL+15XZypg",
            "password"
        ),
        (
            "$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$kCXUjmjvc5XMqQedpMTsOv+zyJEf5PhtGiUghW9jFyw",
            "password"
        ),
        (
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$C4TWUs9rDEvq7w3+J4umqA32aWKB1+DSiRuBfYxFj94",
            "differentpassword"
        ),
        (
            "$argon2id$v=19$m=65536,t=2,p=1$ZGlmZnNhbHQ$vfMrBczELrFdWP0ZsfhWsRPaHppYdP3MVEMIVlqoFBw",
            "password"
        ),
    ]

    @Test("verifies the reference implementation's test vectors", arguments: vectors)
    func referenceVectors(phc: String, password: String) async throws {
        #expect(try await hasher.verify(password, against: phc))
        #expect(try await !hasher.verify(password + "x", against: phc))
    }

    @Test("makes a PHC string with a random salt that verifies")
    func roundTrip() async throws {
        for password in ["correct horse", "", "pass\0word", String(repeating: "é🏳️‍🌈", count: 20)] {
            let first = try await hasher.hash(password)
            let second = try await hasher.hash(password)
            #expect(first.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(first.split(separator: "$").map(\.count).suffix(2) == [22, 43])
            #expect(first != second)
            #expect(try await hasher.verify(password, against: first))
            #expect(try await !hasher.verify(password + " ", against: first))
        }
        let beforeNUL = try await hasher.hash("pass")
        #expect(try await !hasher.verify("pass\0word", against: beforeNUL))
    }

    /// Stored texts that are not hashes, or too expensive.
    static let unreadable = [
        "", "$", "password", "$fbscrypt$v=1,n=14,r=8,p=1$c2FsdA==$aGFzaA==", "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
        "$2x$04$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
        "$2a$03$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
        "$2a$15$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
        "$2a$31$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
        "$2a$04$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1U",
        "$2a$04$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1U_",
        "$2$04$0x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
        "$argon2id$v=19$m=1048576,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=262144,t=5,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=9223372036854775807,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$not/base64!", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$",
        "$argon2id$v=19$m=,t=,p=$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    ]

    @Test("distinguishes an unusable hash from a wrong password", arguments: unreadable)
    func isUnreadable(hash: String) async throws {
        await #expect(throws: PasswordHashingError.unreadableHash) {
            try await hasher.verify("password", against: hash)
        }
    }

    @Test("row 46: takes as long for an unusable hash as for a wrong password")
    func unreadableTime() async {
        let clock = ContinuousClock()
        for hash in Self.unreadable {
            let time = await clock.measure { _ = try? await hasher.verify("password", against: hash) }
            // A fraction of an Argon2id computation, and a thousand times the time of parsing.
            #expect(time > .milliseconds(5), "\(hash)")
        }
    }

    @Test("row 46: computes the same for an unknown address")
    func nothing() async throws {
        // These determine the cost: version, memory, passes, lanes, and the lengths of salt and hash.
        func cost(_ phc: String) -> [Substring] {
            let parts = phc.split(separator: "$")
            return parts.prefix(3) + parts.dropFirst(3).map { "\($0.count)" }
        }
        #expect(cost(Argon2id.dummyHash) == cost(try await hasher.hash("password")))
        // The computation completes; an unreadable string would fail at once.
        try await hasher.verifyDummy("wrong")
    }

    @Test("is busy beyond its threads and queue, and serves the queued")
    func busy() async throws {
        let hasher = PasswordHasher(threads: 1, queueLimit: 3)
        let outcomes = await withTaskGroup(of: PasswordHashingError?.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    do throws(PasswordHashingError) {
                        _ = try await hasher.hash("password")
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count >= 4)
        #expect(outcomes.contains(.busy))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .busy })
        #expect(try await hasher.hash("password").hasPrefix("$argon2id$"))
    }

    @Test("serves addresses in turn, and takes the last place of the one with the most")
    func turns() async throws {
        var (end, ends) = try await flood()
        // On a busy machine the thread may be free again before the other address asks. Then nobody gives up a place.
        for _ in 0..<5 where !ends.contains(nil) { (end, ends) = try await flood() }
        #expect(ends.count { $0 == nil } == 1)
        // Of the flood one or two are served before.
        #expect(ends.count { $0.map { $0 < end } ?? false } <= 2)
    }

    /// Fills the queue of a hasher from one address while its thread is busy, and then asks from another.
    ///
    /// - Returns: The times at which the hash of the other and those of the flood are made; nil for a refused one.
    private func flood() async throws -> (other: ContinuousClock.Instant, flood: [ContinuousClock.Instant?]) {
        let hasher = PasswordHasher(threads: 1, queueLimit: 8)
        func hash(of user: String, at address: String) -> Task<ContinuousClock.Instant?, Never> {
            let request = CurrentRequest(
                id: RequestID(connection: 1, number: 1), method: "auth.change_password",
                owner: RequestOwner(user, in: .users(AddressKey(address))))
            return Task {
                await CurrentRequest.$current.withValue(request) {
                    (try? await hasher.hash("password")) == nil ? nil : .now
                }
            }
        }
        // Takes the thread for a second. On a busy machine that may be over before a poll.
        let isOver = Atomic(false)
        async let slow = verifySlowly(hasher, isOver)
        try await eventually("the thread is busy") { hasher.running == 1 || isOver.load(ordering: .relaxed) }
        let flood = (0..<8).map { hash(of: "user \($0)", at: "192.0.2.1") }
        try await eventually("the queue is full") { hasher.waiting == 8 || isOver.load(ordering: .relaxed) }
        let other = hash(of: "other", at: "192.0.2.2")
        let end = try #require(await other.value)
        var ends: [ContinuousClock.Instant?] = []
        for task in flood { ends.append(await task.value) }
        #expect(try await !slow)
        return (end, ends)
    }

    private func verifySlowly(_ hasher: PasswordHasher, _ isOver: borrowing Atomic<Bool>) async throws -> Bool {
        defer { isOver.store(true, ordering: .relaxed) }
        return try await hasher.verify(
            "another", against: "$2b$14$UeJ2R2guVIXwv535h6/N7.MyQ/T1t6xy8NHemuHL5rv/69c4DZvUm")
    }

    @Test("removes a cancelled request from the queue")
    func cancellation() async throws {
        let hasher = PasswordHasher(threads: 1, queueLimit: 64)
        let tasks = (0..<20).map { _ in Task { try await hasher.hash("password") } }
        for task in tasks.dropFirst() { task.cancel() }
        #expect(try await tasks[0].value.hasPrefix("$argon2id$"))
        var cancelled = 0
        for task in tasks.dropFirst() {
            do { _ = try await task.value } catch PasswordHashingError.cancelled { cancelled += 1 }
        }
        #expect(cancelled > 0)
        #expect(try await hasher.hash("password").hasPrefix("$argon2id$"))
    }
}
