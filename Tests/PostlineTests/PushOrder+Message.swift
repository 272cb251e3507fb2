@testable import Messaging
@testable import Foundations
@testable import Outbox

extension PushOrder {
    /// Returns a push about a message, or a reaction to it, with the longest device token and the largest numbers.
    static func message(
        _ content: String?, kind: String = "text", by sender: String, in title: String?, locale: String = "de",
        reaction emoji: String? = nil
    ) -> PushOrder {
        PushOrder(
            kind: emoji == nil ? .notify : .reaction,
            device: Device(
                id: .random(), platform: .apns, token: String(repeating: "t", count: 2_048), isSandbox: false,
                locale: locale),
            user: .random(), conversation: .random(), seq: .max, sender: .random(), senderName: sender, title: title,
            messageKind: kind, content: content, emoji: content == nil ? nil : emoji, badge: .max, attempts: 0)
    }
}
