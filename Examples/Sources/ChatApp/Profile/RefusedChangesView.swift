import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The changes that the server refused, also those that are on no other screen.
struct RefusedChangesView: View {
    let client: PostlineClient
    @Binding var problem: String?

    var body: some View {
        if !client.refusedChanges.isEmpty {
            Section("Refused changes") {
                ForEach(client.refusedChanges) { change in
                    VStack(alignment: .leading) {
                        if let content = change.content { Text(content).lineLimit(1) }
                        Text(change.error.localizedDescription).font(.caption).foregroundStyle(.secondary)
                        HStack {
                            AsyncButton("Try again", problem: $problem) { try await client.retryChange(change.id) }
                            AsyncButton("Discard", role: .destructive, problem: $problem) {
                                try await client.discardChange(change.id)
                            }
                        }
                        // In a list, a row with other buttons would be one button.
                        .buttonStyle(.borderless)
                    }
                }
            }
        }
    }
}

struct RefusedChangesViewPreviews: PreviewProvider {
    // The sample has none: then the section is empty.
    static var previews: some View {
        Form { RefusedChangesView(client: .sample, problem: .constant(nil)) }
    }
}
