import CArgon2

/// Argon2id by libargon2. It computes for tens of milliseconds on the calling thread.
///
/// The parameters are the first recommendation of OWASP's password storage cheat sheet: 19 MiB, two passes, one lane.
enum Argon2id {
    static let memoryKiB: UInt32 = 19_456
    static let passes: UInt32 = 2
    static let lanes: UInt32 = 1
    static let saltLength = 16
    static let hashLength = 32

    /// Hashes a password with a random salt into a PHC string.
    static func hash(_ password: String) throws(PasswordHashingError) -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<saltLength).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        let length = argon2_encodedlen(
            passes, memoryKiB, lanes, UInt32(saltLength), UInt32(hashLength), Argon2_id)
        var encoded = [CChar](repeating: 0, count: length)
        var password = password
        let code = password.withUTF8 { password in
            unsafe argon2id_hash_encoded(
                passes, memoryKiB, lanes, password.baseAddress, password.count, salt, salt.count, hashLength, &encoded,
                encoded.count)
        }
        guard code == ARGON2_OK.rawValue else { throw .failed(code) }
        return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns true if the PHC string was made from the password.
    static func verify(_ password: String, against phc: String) throws(PasswordHashingError) -> Bool {
        guard isAffordable(phc) else { throw .unreadableHash }
        var password = password
        let code = password.withUTF8 { password in
            unsafe argon2id_verify(phc, password.baseAddress, password.count)
        }
        switch code {
        case ARGON2_OK.rawValue: return true
        case ARGON2_VERIFY_MISMATCH.rawValue: return false
        case ARGON2_MEMORY_ALLOCATION_ERROR.rawValue: throw .failed(code)
        default: throw .unreadableHash
        }
    }

    /// A PHC string with the cost of `hash` that no known password matches.
    static let dummyHash =
        "$argon2id$v=19$m=\(memoryKiB),t=\(passes),p=\(lanes)$AAAAAAAAAAAAAAAAAAAAAA$"
        + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

    /// Returns true if the string's parameters stay within 256 MiB, 16 lanes, and the cost of four passes over that, so
    /// that an imported hash cannot exhaust memory or occupy a thread for more than about a second.
    static func isAffordable(_ phc: String) -> Bool {
        let parts = phc.split(separator: "$")
        guard parts.count == 5, parts[0] == "argon2id", !phc.utf8.contains(0) else { return false }
        var values: [Substring: Int] = [:]
        for parameter in parts[2].split(separator: ",") {
            let sides = parameter.split(separator: "=")
            guard sides.count == 2, let value = Int(sides[1]) else { return false }
            values[sides[0]] = value
        }
        guard let memory = values["m"], let passes = values["t"], let lanes = values["p"] else { return false }
        return 0...1 << 18 ~= memory && 0...16 ~= lanes && 0...1 << 20 ~= passes && memory * passes <= 1 << 20
    }
}
