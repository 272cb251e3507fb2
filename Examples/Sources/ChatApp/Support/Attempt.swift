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
    } catch {
        // The view is gone or has started a newer task.
        guard !Task.isCancelled else { return }
        problem.wrappedValue = error.localizedDescription
    }
}

extension View {
    /// Shows the sentence in an alert until the user closes it.
    func problemAlert(_ problem: Binding<String?>) -> some View {
        let isPresented = Binding(get: { problem.wrappedValue != nil }, set: { _ in problem.wrappedValue = nil })
        return alert("That did not work", isPresented: isPresented) {
            Button("OK", role: .cancel) {}
        } message: {
            Text(problem.wrappedValue ?? "")
        }
    }
}
