import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct DeleteAccountView: View {
    let client: PostlineClient
    @State private var password = ""
    @State private var problem: String?

    var body: some View {
        Form {
            Section {
                if !isGuest { SecureField("Password", text: $password) }
                AsyncButton("Delete my account", role: .destructive, problem: $problem) {
                    try await client.deleteAccount(password: isGuest ? nil : password)
                }
                .disabled(!isGuest && password.isEmpty)
            } footer: {
                Text("This deletes your profile for everyone, and all data on this device. It cannot be undone.")
            }
        }
        .navigationTitle("Delete account")
        .problemAlert($problem)
    }

    private var isGuest: Bool { client.me?.isGuest == true }
}

struct DeleteAccountViewPreviews: PreviewProvider {
    static var previews: some View { DeleteAccountView(client: .sample) }
}
