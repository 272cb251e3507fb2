import Foundation
import Postline

@MainActor
struct Pictures {
    let client: PostlineClient

    func setAvatar(_ picture: Data) async throws {
        try await client.setAvatar(picture)
    }

    func send(_ picture: Data, in chat: Chat) async throws {
        let attachment = try await client.upload(picture, for: chat.conversationID)
        try await chat.send("", attachment: attachment)
    }

    func address(of message: Message) async throws -> URL? {
        guard let attachment = message.attachment else { return nil }
        return try await client.urls(for: [attachment])[attachment]
    }
}
