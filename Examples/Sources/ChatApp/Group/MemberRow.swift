import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A member of a group with its role. A swipe removes the member, and the context menu changes the role, if the user may.
struct MemberRow: View {
    let client: PostlineClient
    let chat: Chat
    let member: Conversation.Member
    @Binding var problem: String?

    var body: some View {
        HStack {
            UserRow(client: client, user: user, isMe: isMe)
            Spacer()
            if let role { Text(role).font(.caption).foregroundStyle(.secondary) }
        }
        .accessibilityElement(children: .combine)
        .swipeActions {
            if canRemove {
                AsyncButton("Remove", systemImage: "person.badge.minus", role: .destructive, problem: $problem) {
                    try await chat.removeMember(member.userID)
                }
            }
        }
        .contextMenu {
            if myRole == .owner, !isMe { roles }
            if let user, !isMe { BlockButton(client: client, user: user, problem: $problem) }
        }
    }

    @ViewBuilder private var roles: some View {
        if member.role == .admin {
            AsyncButton("Make a member", systemImage: "person", problem: $problem) {
                try await chat.setRole(.member, of: member.userID)
            }
        } else {
            AsyncButton("Make an admin", systemImage: "person.badge.key", problem: $problem) {
                try await chat.setRole(.admin, of: member.userID)
            }
        }
        // A group has one owner. The former one becomes an admin.
        AsyncButton("Make the owner", systemImage: "crown", problem: $problem) {
            try await chat.setRole(.owner, of: member.userID)
        }
    }

    private var user: User? { chat.conversation?.users.first { $0.id == member.userID } }

    private var isMe: Bool { member.userID == chat.conversation?.myID }

    private var myRole: MemberRole? { chat.conversation?.myMembership?.role }

    /// The owner removes everyone else, an admin only members without a role.
    private var canRemove: Bool { !isMe && (myRole == .owner || myRole == .admin && member.role == .member) }

    private var role: String? {
        switch member.role {
        case .owner: "Owner"
        case .admin: "Admin"
        default: nil
        }
    }
}

struct MemberRowPreviews: PreviewProvider {
    static var previews: some View {
        let chat = PostlineClient.sample.chat(with: "hike")
        List(chat.conversation?.members ?? []) { member in
            MemberRow(client: .sample, chat: chat, member: member, problem: .constant(nil))
        }
    }
}
