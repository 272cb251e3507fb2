import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct LoadingView: View {
    let state: LoadingState
    let retry: @MainActor () async throws -> Void
    @State private var problem: String?

    var body: some View {
        switch state {
        case .idle: EmptyView()
        case .loading: Text("Loading…")
        case .failed(let error):
            Text(error.localizedDescription)
            Button("Try again") { Task { await attempt($problem, retry) } }
        }
    }
}
