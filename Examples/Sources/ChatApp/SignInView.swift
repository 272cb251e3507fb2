import PostlineClient

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
            TextField("Email", text: $email)
            SecureField("Password", text: $password)
            Button("Sign in") {
                Task { await attempt { try await client.signIn(email: email, password: password) } }
            }
            Button("Go on as a guest") {
                Task { await attempt { try client.continueAsGuest() } }
            }
            if let problem { Text(problem) }
        }
    }

    private func attempt(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch let error as PostlineError {
            problem = error.message
        } catch {
            problem = "\(error)"
        }
    }
}
