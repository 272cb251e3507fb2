import Crypto
import FoundationEssentials
import Foundations

/// Encrypts typing notices between nodes.
///
/// Every role of the database may listen and notify on the channel. So payloads are encrypted with a key that only the
/// nodes have (AES-256-GCM), and each node numbers its payloads, so that none is delivered twice.
///
/// The payload is Base64 of nonce, ciphertext and tag. The plaintext is `<node> <number> <time>
/// <conversation>/<user>/<1|0> …`, with the time in milliseconds since 1970. A payload is ignored if its time is before
/// the start of this node, so that a recorded payload is not accepted after a restart, or differs by more than
/// ``maxAge`` from this node's time.
struct TypingEnvelope {
    private let key: SymmetricKey
    private let node = ID.random()
    private var number: UInt64 = 0
    private let now: @Sendable () -> Date

    private let started: Int64

    /// The last number of each other node, and its time. When there are many, entries older than ``maxAge`` are
    /// removed: payloads that old are ignored anyway.
    private var heard: [ID: (number: UInt64, time: Int64)] = [:]
    private static let maxNodes = 1_024

    /// The largest accepted difference in time, in milliseconds: the difference of two nodes' clocks plus the latency.
    /// Between nodes whose clocks differ by more, typing is not shown.
    static let maxAge: Int64 = 15_000

    /// The number of notices that fit, encrypted and in Base64, into the 8,000 bytes of a notification.
    static let capacity = 75

    /// - Parameter secret: the secret that all nodes share.
    init(secret: String, now: @escaping @Sendable () -> Date = { Date() }) {
        // Not the key of earlier versions, which signed payloads and did not encrypt them.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.utf8)), info: Array("postline typing, encrypted".utf8),
            outputByteCount: 32)
        self.now = now
        started = Self.milliseconds(now())
    }

    /// Returns the payload for these notices, at most ``capacity`` of them.
    ///
    /// - Throws: if they cannot be encrypted.
    mutating func seal(_ notices: some Collection<TypingNotice>) throws -> String {
        number += 1
        let body = notices.reduce(into: "\(node) \(number) \(Self.milliseconds(now()))") { body, notice in
            body += " \(notice.conversation)/\(notice.user)/\(notice.isTyping ? 1 : 0)"
        }
        guard let box = try AES.GCM.seal(Array(body.utf8), using: key).combined else {
            throw CryptoKitError.incorrectParameterSize
        }
        return Data(box).base64EncodedString()
    }

    /// Returns the notices in another node's payload. Empty if the payload is repeated, expired or invalid.
    mutating func open(_ payload: String) -> [TypingNotice] {
        guard let bytes = Data(base64Encoded: payload), let box = try? AES.GCM.SealedBox(combined: bytes),
            let plain = try? AES.GCM.open(box, using: key)
        else { return [] }
        let fields = String(decoding: plain, as: UTF8.self).split(separator: " ")
        guard fields.count >= 3, let sender = ID(fields[0]), sender != node, let number = UInt64(fields[1]),
            number > heard[sender]?.number ?? 0, let time = Int64(fields[2]), time >= started,
            isRecent(time)
        else { return [] }
        if heard.count >= Self.maxNodes { heard = heard.filter { isRecent($0.value.time) } }
        heard[sender] = (number, time)
        return fields.dropFirst(3).compactMap { field in
            let parts = field.split(separator: "/")
            guard parts.count == 3, let conversation = ID(parts[0]), let user = ID(parts[1]) else { return nil }
            return TypingNotice(conversation: conversation, user: user, isTyping: parts[2] == "1")
        }
    }

    private func isRecent(_ time: Int64) -> Bool {
        let now = Self.milliseconds(now())
        return (now - Self.maxAge...now + Self.maxAge).contains(time)
    }

    private static func milliseconds(_ date: Date) -> Int64 {
        Int64(exactly: (date.timeIntervalSince1970 * 1_000).rounded(.down)) ?? 0
    }
}
