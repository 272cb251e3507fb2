import Foundation
import Postline

/// The data of the previews.
extension PostlineClient {
    static let sample: PostlineClient = .preview(
        me: .robin,
        conversations: [
            Conversation(id: "plans", myID: User.robin.id, users: [.robin, .carol], lastReadSeq: 3),
            .hike,
        ],
        messages: [
            .sample(1, by: .carol, "Hi Robin!", createdAt: Date(timeIntervalSinceNow: -90_000)),
            .sample(2, by: .robin, "Hello.", createdAt: Date(timeIntervalSinceNow: -89_000), isRead: true),
            .sample(3, by: .carol, "Where shall we go?", createdAt: Date(timeIntervalSinceNow: -600)),
            .sample(4, by: .carol, "To the lake?", createdAt: Date(timeIntervalSinceNow: -300)),
            .sampleReply,
            .sample(nil, by: .robin, "By train?"),
        ])
}

extension User {
    static let robin = User(id: "robin", username: "robin", fullName: "Robin Ray")
    static let carol = User(id: "carol", username: "carol", fullName: "Carol Jensen")
    static let dave = User(id: "dave", username: "dave", fullName: "Dave Nakamura", avatarID: "fox")
}

extension Conversation {
    /// A group with an owner, an admin and a member.
    static var hike: Conversation {
        var group = Conversation(id: "hike", myID: User.robin.id, title: "Hike", users: [.robin, .carol, .dave])
        for (index, role) in [MemberRole.owner, .admin].enumerated() { group.members[index].role = role }
        return group
    }
}

extension Message {
    /// A reply with a reaction.
    static var sampleReply: Message {
        var reply = sample(5, by: .robin, "To the lake.", isRead: true)
        reply.replyTo = Quote(seq: 3, senderID: User.carol.id, sender: .carol, content: "Where shall we go?")
        reply.reactions = [Reaction(emoji: "👍", count: 1)]
        return reply
    }

    static func sample(
        _ seq: Int?, by sender: User, _ content: String, createdAt: Date = Date(), isRead: Bool = false,
        delivery: Delivery = .sent
    ) -> Message {
        Message(
            id: Message.ID("message-\(seq ?? 0)-\(content.count)"), conversationID: "plans", seq: seq,
            senderID: sender.id, sender: sender, content: content, isRead: isRead, createdAt: createdAt,
            delivery: delivery, isMine: sender.id == User.robin.id)
    }
}
