@testable import Messaging
@testable import Foundations
@testable import Outbox

extension PushOrder {
    /// Returns a message push with the longest device token and the largest numbers.
    static func message(_ content: String?, by sender: String, in title: String?) -> PushOrder {
        PushOrder(
            kind: .notify,
            device: Device(
                id: .random(), platform: .apns, token: String(repeating: "t", count: 2_048), isSandbox: false,
                locale: "de"),
            user: .random(), conversation: .random(), seq: .max, sender: .random(), senderName: sender, title: title,
            isImage: false, content: content, badge: .max, attempts: 0)
    }
}
