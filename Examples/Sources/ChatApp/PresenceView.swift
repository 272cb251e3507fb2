import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct PresenceView: View {
    let chat: Chat

    var body: some View {
        if let typist = chat.typingUsers.first {
            Text("\(typist.displayName ?? "Somebody") is typing …")
        } else if chat.conversation?.otherUserPresence?.isOnline == true {
            Text("Online")
        }
    }
}
