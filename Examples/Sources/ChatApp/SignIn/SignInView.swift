import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Signs in, registers, or continues as a guest. A guest's data comes along.
struct SignInView: View {
    let client: PostlineClient
    @State private var isNew = false
    @State private var name = ""
    @State private var email = ""
    @State private var password = ""
    @State private var problem: String?

    var body: some View {
        Form {
            // The reason, if the server ended the last session.
            if case .signedOut(let error?) = client.state {
                Section { Text(error.localizedDescription) }
            }
            Section {
                Picker("Account", selection: $isNew) {
                    Text("Sign in").tag(false)
                    Text("New account").tag(true)
                }
                .pickerStyle(.segmented)
                if isNew { TextField("Name", text: $name) }
                TextField("Email", text: $email).emailKeyboard()
                SecureField("Password", text: $password)
                AsyncButton(isNew ? "Create account" : "Sign in", problem: $problem) {
                    if isNew {
                        try await client.register(email: email, password: password, fullName: name)
                    } else {
                        try await client.signIn(email: email, password: password)
                    }
                }
                .disabled(email.isEmpty || password.isEmpty || isNew && name.isEmpty)
            }
            if client.account == .signedOut {
                Section {
                    AsyncButton("Continue as a guest", problem: $problem) { try client.continueAsGuest() }
                } footer: {
                    Text("A guest needs no connection, and can become an account later.")
                }
            }
        }
        .problemAlert($problem)
    }
}

struct SignInViewPreviews: PreviewProvider {
    static var previews: some View { SignInView(client: .sample) }
}
