import Foundation
import Postline

extension AppModel {
    /// Registers the device by the token that the system gives.
    func didRegister(token: Data) async {
        guard case .success(let client) = client else { return }
        #if DEBUG
        let isSandbox = true
        #else
        let isSandbox = false
        #endif
        // A server without the app's push key refuses. The app works without pushes.
        try? await client.registerDevice(apnsToken: token, isSandbox: isSandbox)
    }

    /// Fetches what a push announces. Returns true if there was something new.
    func didReceive(_ payload: PushPayload) async -> Bool {
        guard case .success(let client) = client else { return false }
        return await client.handle(payload)
    }

    /// Opens the chat of a push that the user has tapped.
    func didTap(_ payload: PushPayload) async {
        _ = await didReceive(payload)
        path = [ChatLink(conversationID: payload.conversationID, seq: payload.seq)]
    }
}
