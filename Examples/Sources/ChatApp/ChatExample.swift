import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

@main
struct ChatExample: App {
    @Environment(\.scenePhase) private var phase
    @State private var client = Result {
        let folder = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        return try PostlineClient(
            server: .line("chat.example.com"), store: .file(in: folder.appending(path: "Postline")))
    }

    var body: some Scene {
        WindowGroup {
            switch client {
            case .success(let client): RootView(client: client)
            case .failure(let error): Text(error.localizedDescription)
            }
        }
        .onChange(of: phase) { _, phase in
            guard case .success(let client) = client else { return }
            Task {
                if phase == .background { await client.enterBackground() }
                if phase == .active { await client.enterForeground() }
            }
        }
    }
}

struct RootView: View {
    let client: PostlineClient

    var body: some View {
        switch client.account {
        case .signedOut, .signingIn(guest: nil): SignInView(client: client)
        case .signingIn, .localGuest, .guest, .user: ConversationsView(client: client)
        }
    }
}
