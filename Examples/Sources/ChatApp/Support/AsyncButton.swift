import Foundation

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A button whose action may wait. It is disabled meanwhile, and stores an error as a sentence.
struct AsyncButton: View {
    let title: String
    var systemImage: String?
    var role: ButtonRole?
    @Binding var problem: String?
    let action: @MainActor () async throws -> Void
    @State private var isRunning = false

    init(
        _ title: String, systemImage: String? = nil, role: ButtonRole? = nil, problem: Binding<String?>,
        action: @escaping @MainActor () async throws -> Void
    ) {
        self.title = title
        self.systemImage = systemImage
        self.role = role
        _problem = problem
        self.action = action
    }

    var body: some View {
        Button(role: role) {
            isRunning = true
            // What the user has begun goes on if the view disappears.
            Task {
                await attempt($problem, action)
                isRunning = false
            }
        } label: {
            if let systemImage { Label(title, systemImage: systemImage) } else { Text(title) }
        }
        .disabled(isRunning)
    }
}

struct AsyncButtonPreviews: PreviewProvider {
    static var previews: some View {
        AsyncButton("Refresh", systemImage: "arrow.clockwise", problem: .constant(nil)) {}
    }
}
