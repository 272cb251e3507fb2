import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct RootView: View {
    @Bindable var model: AppModel
    let client: PostlineClient

    var body: some View {
        switch client.account {
        case .signedOut, .signingIn(guest: nil): SignInView(client: client)
        case .signingIn, .localGuest, .guest, .user: ConversationsView(client: client, path: $model.path)
        }
    }
}

struct RootViewPreviews: PreviewProvider {
    static var previews: some View { RootView(model: .shared, client: .sample) }
}
