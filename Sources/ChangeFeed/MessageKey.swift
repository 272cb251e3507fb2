import Foundations

/// The place of a message.
struct MessageKey: Hashable {
    let conversation: ID
    let seq: Int64
}
