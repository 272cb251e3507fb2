internal import Crypto

/// Carries typing notices from node to node, over a channel on which every role of the database may speak: nodes know
/// each other's by a seal that needs their common secret, and each counts its own, so that none is told twice.
///
/// `<seal> <node> <number> <conversation>/<user>/<1|0> …`
struct TypingEnvelope {
    private let key: SymmetricKey
    private let node = ID.random()
    private var number: UInt64 = 0

    /// The last number of each other node. Of too many, all are forgotten: an old one would be told once more.
    private var heard: [ID: UInt64] = [:]
    private static let maxNodes = 1_024

    /// As many as fit into the 8,000 bytes of a notification.
    static let capacity = 90

    init(secret: String) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.utf8)), info: Array("postline typing".utf8),
            outputByteCount: 32)
    }

    /// The payload that carries these, at most ``capacity`` of them.
    mutating func seal(_ notices: some Collection<TypingNotice>) -> String {
        number += 1
        let body = notices.reduce(into: "\(node) \(number)") { body, notice in
            body += " \(notice.conversation)/\(notice.user)/\(notice.isTyping ? 1 : 0)"
        }
        let seal = HMAC<SHA256>.authenticationCode(for: Array(body.utf8), using: key)
        return "\(seal.hexadecimal) \(body)"
    }

    /// What another node has sealed, the first time that it comes; nothing of anything else.
    mutating func open(_ payload: String) -> [TypingNotice] {
        guard let space = payload.firstIndex(of: " ") else { return [] }
        let body = payload[payload.index(after: space)...]
        let fields = body.split(separator: " ")
        guard fields.count >= 2, let sender = ID(fields[0]), sender != node, let number = UInt64(fields[1]),
            number > heard[sender] ?? 0, isSeal(payload[..<space], of: body)
        else { return [] }
        if heard.count >= Self.maxNodes { heard = [:] }
        heard[sender] = number
        return fields.dropFirst(2).compactMap { field in
            let parts = field.split(separator: "/")
            guard parts.count == 3, let conversation = ID(parts[0]), let user = ID(parts[1]) else { return nil }
            return TypingNotice(conversation: conversation, user: user, isTyping: parts[2] == "1")
        }
    }

    private func isSeal(_ seal: some StringProtocol, of body: some StringProtocol) -> Bool {
        guard let code = [UInt8](hexadecimal: seal) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(body.utf8), using: key)
    }
}
