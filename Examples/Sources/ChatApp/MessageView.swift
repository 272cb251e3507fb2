import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct MessageView: View {
    let client: PostlineClient
    let message: Message
    @State private var problem: String?

    var body: some View {
        HStack {
            if let sender = message.sender { AvatarView(client: client, profile: sender) }
            VStack(alignment: .leading) {
                Text(message.sender?.displayName ?? "Deleted user")
                if let attachment = message.attachment { PictureView(client: client, attachment: attachment) }
                Text(message.content ?? "This message was deleted.")
                switch message.delivery {
                case .sent: if message.isRead, message.isMine { Text("Read") }
                case .queued:
                    if let part = client.uploadProgress[message.id]?.fractionCompleted {
                        Text("\(Int(part * 100)) % uploaded")
                    } else {
                        Text("On its way")
                    }
                case .refused(let error, let change):
                    Text(error.localizedDescription)
                    Button("Try again") { Task { await attempt($problem) { try await client.retryChange(change) } } }
                    Button("Discard") { Task { await attempt($problem) { try await client.discardChange(change) } } }
                }
                if let problem { Text(problem) }
            }
        }
    }
}
