import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The actions on the account: a guest signs in; others change the password, sign out, or delete it.
struct AccountSection: View {
    let client: PostlineClient
    @Binding var problem: String?

    var body: some View {
        Section {
            switch client.account {
            case .localGuest, .guest: NavigationLink("Sign in, or create an account") { SignInView(client: client) }
            default: NavigationLink("Change password") { PasswordView(client: client) }
            }
            AsyncButton("Sign out", problem: $problem) { try await client.signOut() }
            AsyncButton("Sign out and erase my data on this device", role: .destructive, problem: $problem) {
                try await client.signOut(erasing: true)
            }
            NavigationLink("Delete account") { DeleteAccountView(client: client) }
        } footer: {
            if client.pendingChangeCount > 0 {
                Text("\(client.pendingChangeCount) changes wait for a connection. Erasing deletes them.")
            }
        }
    }
}

struct AccountSectionPreviews: PreviewProvider {
    static var previews: some View {
        Form { AccountSection(client: .sample, problem: .constant(nil)) }
    }
}
