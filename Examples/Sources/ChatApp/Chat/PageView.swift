import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The end of the shown messages: loads the next page when it comes into view.
struct PageView<Edge: Equatable>: View {
    let state: LoadingState
    /// The message at this end. With another one there is another page.
    let edge: Edge
    let load: @MainActor () async throws -> Void
    @State private var problem: String?

    var body: some View {
        if case .failed(let error) = state {
            VStack {
                Text(error.localizedDescription).font(.caption).foregroundStyle(.secondary)
                AsyncButton("Try again", problem: $problem, action: load)
            }
            .frame(maxWidth: .infinity)
        } else {
            ProgressView()
                .frame(maxWidth: .infinity)
                // The state shows an error.
                .task(id: edge) { try? await load() }
        }
    }
}

struct PageViewPreviews: PreviewProvider {
    static var previews: some View {
        PageView(state: .loading, edge: 1) {}
        PageView(state: .failed(PostlineError(.offline, "There is no connection.")), edge: 1) {}
    }
}
