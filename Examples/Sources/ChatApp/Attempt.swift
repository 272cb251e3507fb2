import Foundation

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Runs an action of the user, and stores an error as a sentence for the view.
@MainActor
func attempt(_ problem: Binding<String?>, _ action: @MainActor () async throws -> Void) async {
    do {
        try await action()
        problem.wrappedValue = nil
    } catch is CancellationError {
        // The view is gone or has started a newer task.
    } catch {
        problem.wrappedValue = error.localizedDescription
    }
}
