import Foundation

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Does what the user asked for. An error becomes a sentence that the view shows.
@MainActor
func attempt(_ problem: Binding<String?>, _ action: @MainActor () async throws -> Void) async {
    do {
        try await action()
        problem.wrappedValue = nil
    } catch is CancellationError {
        // The view is gone, or asks for something newer.
    } catch {
        problem.wrappedValue = error.localizedDescription
    }
}
