import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct PresenceView: View {
    let chat: Chat
    let userID: String

    var body: some View {
        if let typist = chat.typingUsers.first {
            Text("\(typist.displayName ?? "Somebody") is typing …")
        } else if chat.conversation?.presenceOfOtherUser(than: userID)?.isOnline == true {
            Text("Online")
        }
    }
}
