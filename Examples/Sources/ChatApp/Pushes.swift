import Foundation
import Postline

@MainActor
struct Pushes {
    let client: PostlineClient

    func didRegister(token: Data) async throws {
        try await client.registerDevice(apnsToken: token)
    }

    func didReceive(userInfo: [AnyHashable: Any]) async -> Bool {
        guard let payload = PushPayload(userInfo: userInfo) else { return false }
        return await client.handle(payload)
    }

    func didTap(userInfo: [AnyHashable: Any]) async throws -> Chat? {
        guard let payload = PushPayload(userInfo: userInfo) else { return nil }
        let chat = client.chat(with: payload.conversationID)
        if let seq = payload.seq {
            _ = await client.handle(payload)
            try await chat.jump(toSeq: seq)
        }
        return chat
    }

    func runBackgroundTask() async -> Bool {
        await client.sync(within: .seconds(25))
    }
}
