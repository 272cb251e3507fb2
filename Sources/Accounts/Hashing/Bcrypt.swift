import CCrypt

/// A bcrypt hash of another auth server (`$2a$10$…`), by libxcrypt. Verifying computes on the calling thread: about 60
/// ms at cost 10, twice as long with each more.
struct Bcrypt: Sendable {
    /// The costs from bcrypt's minimum to what a sign-in may take: about a second.
    static let costs = 4...14

    /// bcrypt ignores further bytes.
    static let longestPassword = 72

    private let text: String

    /// Parses `$2a$`, `$2b$` or `$2y$`, the cost, and 53 characters of salt and digest. Nil if it is invalid or too
    /// costly for a sign-in.
    init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard text.utf8.count == 60, parts.count == 4, parts[0].isEmpty, ["2a", "2b", "2y"].contains(parts[1]),
            parts[2].utf8.count == 2, let cost = Int(parts[2]), Self.costs.contains(cost),
            parts[3].utf8.allSatisfy(Self.isDigit)
        else { return nil }
        self.text = text
    }

    /// Returns true if the hash was made from exactly this password, not from another that bcrypt treats as equal: one
    /// beyond its length, or with a NUL.
    func matches(_ password: String) throws(PasswordHashingError) -> Bool {
        let phrase = Array(password.utf8.prefix(Self.longestPassword)) + [0]
        let digests = (Array(try digest(of: phrase)), Array(text.utf8.suffix(Self.digestLength)))
        guard digests.0.count == digests.1.count else { throw .unreadableHash }
        // Constant time.
        let difference = zip(digests.0, digests.1).reduce(0) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 && password.utf8.count <= Self.longestPassword && !password.utf8.contains(0)
    }

    /// Returns the digest of a NUL-terminated phrase with this hash's salt and cost.
    private func digest(of phrase: [UInt8]) throws(PasswordHashingError) -> [UInt8] {
        let size = MemoryLayout<crypt_data>.size
        let made: String? = unsafe withUnsafeTemporaryAllocation(
            byteCount: size, alignment: MemoryLayout<crypt_data>.alignment
        ) { memory in
            unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
            return unsafe phrase.withUnsafeBytes { phrase in
                let phrase = unsafe phrase.assumingMemoryBound(to: CChar.self).baseAddress
                return unsafe crypt_rn(phrase, text, memory.baseAddress, CInt(size)).map { unsafe String(cString: $0) }
            }
        }
        guard let made else { throw .unreadableHash }
        return Array(made.utf8.suffix(Self.digestLength))
    }

    private static let digestLength = 31

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: ".")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
