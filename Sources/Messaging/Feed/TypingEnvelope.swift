internal import Crypto
internal import FoundationEssentials

/// Carries typing notices from node to node, over a channel on which every role of the database may listen and speak:
/// they are encrypted with a key that only the nodes have (AES-256-GCM), and each node numbers its own, so that none is
/// delivered twice.
///
/// The payload is Base64 of nonce, ciphertext and tag. The plaintext is
/// `<node> <number> <time> <conversation>/<user>/<1|0> …`, with the time in milliseconds since 1970. Ignored is a payload
/// that is of a time before this node started, so that one that was recorded before a restart is not accepted after it,
/// and one whose time differs by more than ``maxAge`` from this node's.
struct TypingEnvelope {
    private let key: SymmetricKey
    private let node = ID.random()
    private var number: UInt64 = 0
    private let now: @Sendable () -> Date

    private let started: Int64

    /// The last number of each other node, and its time. Those that are older than ``maxAge`` are forgotten when there
    /// are many: their payloads are ignored for their time.
    private var heard: [ID: (number: UInt64, time: Int64)] = [:]
    private static let maxNodes = 1_024

    /// Milliseconds for which a payload is accepted: the difference of two nodes' clocks and the payload's way. Between
    /// nodes whose clocks differ by more, typing is not shown.
    static let maxAge: Int64 = 15_000

    /// As many as fit, encrypted and in Base64, into the 8,000 bytes of a notification.
    static let capacity = 75

    /// - Parameter secret: common to all nodes.
    init(secret: String, now: @escaping @Sendable () -> Date = { Date() }) {
        // Another key than that of earlier versions, which signed and did not encrypt.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.utf8)), info: Array("postline typing, encrypted".utf8),
            outputByteCount: 32)
        self.now = now
        started = Self.milliseconds(now())
    }

    /// Returns the payload that carries these notices, at most ``capacity`` of them.
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

    /// Returns the notices of another node's payload, the first time that it comes and while it is new; nothing of
    /// anything else.
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
