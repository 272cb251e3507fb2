import Postline

/// A block of a user. It needs the server, except for the list.
enum BlockAction: Sendable, Equatable {
    case block(GroupAction.Who)
    case unblock(GroupAction.Who)
    case list
}

/// Commands for blocks.
extension ChatModel {
    /// Blocks or unblocks a user. Without a name it is the other user of the open direct conversation.
    func block(_ name: String?, _ action: (GroupAction.Who) -> BlockAction) -> [ChatOutput] {
        if let name { return [.effect(.block(action(who(name))))] }
        guard let other = open?.otherUser else {
            return [.notice(.failed("Give a name, or open the conversation with the person."))]
        }
        return [.effect(.block(action(.known(id: other.id))))]
    }

    /// The reason why nothing can be written to the open conversation, or nil.
    var blockedReason: String? {
        guard let open, open.isBlocked else { return nil }
        return "You have blocked \(shown.name(ofConversation: open.id)). /unblock lets you write."
    }
}
