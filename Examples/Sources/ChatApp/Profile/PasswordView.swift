import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct PasswordView: View {
    let client: PostlineClient
    @Environment(\.dismiss) private var dismiss
    @State private var current = ""
    @State private var new = ""
    @State private var problem: String?

    var body: some View {
        Form {
            SecureField("Current password", text: $current)
            SecureField("New password", text: $new)
            AsyncButton("Change password", problem: $problem) {
                try await client.changePassword(from: current, to: new)
                dismiss()
            }
            .disabled(current.isEmpty || new.isEmpty)
        }
        .navigationTitle("Password")
        .problemAlert($problem)
    }
}

struct PasswordViewPreviews: PreviewProvider {
    static var previews: some View { PasswordView(client: .sample) }
}
