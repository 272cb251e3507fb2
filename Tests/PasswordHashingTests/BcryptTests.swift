@testable import Accounts
import Testing

@Suite struct BcryptTests {
    private static let longest = String(repeating: "0123456789ab", count: 6)

    /// Test vectors; the first three are from the reference implementation (crypt_blowfish, `wrapper.c`).
    private static let vectors: [(hash: String, password: String)] = [
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", "U*U*"),
        ("$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", "U*U*U"),
        ("$2b$06$x0KtZpjz09fEGmuQ8Niqueegs3nr8ttI3/I408BOaImvFW3X/F5US", "a password"),
        ("$2y$05$abcdefghijklmnopqrstuuZVEMa1pjhlynBQ1qXmSvGBJpN9h1w8G", "pässwörd"),
        ("$2a$04$x0KtZpjz09fEGmuQ8NiquefU1mR21HT51kVI3ceQAoF85ynsnqY4i", longest),
    ]

    @Test("verifies only the exact password, beyond bcrypt's limits", arguments: vectors)
    func matches(hash: String, password: String) async throws {
        let hasher = PasswordHasher(threads: 1, queueLimit: 64)
        #expect(try await hasher.verify(password, against: hash))
        // bcrypt reads at most 72 bytes, up to a NUL.
        for other in [password + "X", password + "\0", password + "\0X", String(password.dropLast()), ""] {
            #expect(try await !hasher.verify(other, against: hash), "\(other)")
        }
    }

    @Test("compares every character of the digest")
    func everyCharacter() async throws {
        let hasher = PasswordHasher(threads: 1, queueLimit: 64)
        // A faulty comparison, `(all | one) ^ other`, accepted these guesses, and 16 of 3,000 in all.
        for guess in [73, 241, 396, 447, 499, 659] {
            let isTaken = try await hasher.verify("guess \(guess)", against: Self.vectors[5].hash)
            #expect(!isTaken, "guess \(guess)")
        }
    }

    @Test("computes bcrypt on the hasher's threads, within its queue")
    func bounded() async throws {
        let hasher = PasswordHasher(threads: 1, queueLimit: 2)
        let outcomes = await withTaskGroup(of: PasswordHashingError?.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    do throws(PasswordHashingError) {
                        _ = try await hasher.verify("password", against: Self.vectors[4].hash)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.contains(.busy))
        #expect(outcomes.count { $0 == nil } >= 3)
    }
}
