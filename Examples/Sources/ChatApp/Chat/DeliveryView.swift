import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The line below a message: its time, and for the user's own messages the delivery.
struct DeliveryView: View {
    let client: PostlineClient
    let message: Message
    @Binding var problem: String?

    var body: some View {
        VStack(alignment: .trailing) {
            HStack {
                if message.editedAt != nil { Text("Edited") }
                Text(message.createdAt, style: .time)
                switch message.delivery {
                case .sent:
                    if message.isMine { Text(message.isRead ? "Read" : message.isDelivered ? "Delivered" : "Sent") }
                case .queued: queued
                case .refused: Text(message.seq == nil ? "Not sent" : "Not changed").foregroundStyle(.red)
                }
            }
            .accessibilityElement(children: .combine)
            if case .refused(let error, let change) = message.delivery {
                Text(error.localizedDescription)
                HStack {
                    AsyncButton("Try again", problem: $problem) { try await client.retryChange(change) }
                    AsyncButton("Discard", role: .destructive, problem: $problem) {
                        try await client.discardChange(change)
                    }
                }
            }
        }
        .font(.caption2)
        .foregroundStyle(.secondary)
    }

    @ViewBuilder private var queued: some View {
        if let part = client.uploadProgress[message.id]?.fractionCompleted {
            ProgressView(value: part).frame(width: 60).accessibilityLabel("Uploading")
        } else {
            Image(systemName: "clock").accessibilityLabel("Waiting for a connection")
        }
    }
}

struct DeliveryViewPreviews: PreviewProvider {
    static var previews: some View {
        DeliveryView(client: .sample, message: .sample(2, by: .robin, "Hello", isRead: true), problem: .constant(nil))
    }
}
