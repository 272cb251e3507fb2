import Foundation
import Postline

@MainActor
struct Pictures {
    let client: PostlineClient

    func setAvatar(_ picture: Data) async throws {
        try await client.setAvatar(picture)
    }

    func send(_ picture: Data, in chat: Chat) async throws {
        try await chat.send(picture: picture)
    }

    func picture(of message: Message) async throws -> Data? {
        guard let attachment = message.attachment else { return nil }
        return try await client.pictures.picture(of: attachment, maxPixels: 1_200)
    }
}
