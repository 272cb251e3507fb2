import Foundation
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

struct PresenceViewPreviews: PreviewProvider {
    static var previews: some View { PresenceView(chat: PostlineClient.sample.chat(with: "plans")) }
}
