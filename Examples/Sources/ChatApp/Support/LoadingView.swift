import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The state of something that loads: a spinner, or the error with a button.
struct LoadingView: View {
    let state: LoadingState
    let retry: @MainActor () async throws -> Void
    @State private var problem: String?

    var body: some View {
        switch state {
        case .idle: EmptyView()
        case .loading: ProgressView("Loading…")
        case .failed(let error):
            ContentUnavailableView {
                Label("Not loaded", systemImage: "wifi.exclamationmark")
            } description: {
                Text(error.localizedDescription)
            } actions: {
                // The state shows an error of the next attempt.
                AsyncButton("Try again", problem: $problem, action: retry)
            }
        }
    }
}

struct LoadingViewPreviews: PreviewProvider {
    static var previews: some View {
        LoadingView(state: .loading) {}
        LoadingView(state: .failed(PostlineError(.offline, "There is no connection."))) {}
    }
}
