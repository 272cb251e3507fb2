import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

@main
struct ChatExample: App {
    #if os(iOS)
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    #endif
    @Environment(\.scenePhase) private var phase
    private let model = AppModel.shared

    var body: some Scene {
        WindowGroup {
            switch model.client {
            case .success(let client): RootView(model: model, client: client)
            case .failure(let error): Text(error.localizedDescription)
            }
        }
        .onChange(of: phase, initial: true) { _, phase in
            guard case .success(let client) = model.client else { return }
            // The calls go on after this returns.
            Task {
                if phase == .background { await client.enterBackground() }
                if phase == .active { await client.enterForeground() }
            }
        }
    }
}
