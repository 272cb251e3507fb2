import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct SignInView: View {
    let client: PostlineClient
    @State private var email = ""
    @State private var password = ""
    @State private var problem: String?

    var body: some View {
        Form {
            // The reason, if the server ended the last session.
            if case .signedOut(let error?) = client.state { Text(error.localizedDescription) }
            TextField("Email", text: $email)
            SecureField("Password", text: $password)
            Button("Sign in") {
                Task { await attempt($problem) { try await client.signIn(email: email, password: password) } }
            }
            Button("Continue as a guest") {
                Task { await attempt($problem) { try client.continueAsGuest() } }
            }
            if let problem { Text(problem) }
        }
    }
}
