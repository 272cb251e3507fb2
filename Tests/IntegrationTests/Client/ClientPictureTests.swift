import Foundation
import Foundations
@testable import Messaging
import TestSupport
import Testing

@testable import Postline

@Suite("Client pictures")
@MainActor
struct ClientPictureTests {
    @Test("uploads an avatar and a message's picture, visible to members only")
    func uploaded() async throws {
        try await withPictures { node, _ in
            try await AppDevice.with(.node(node.port)) { alice in
                try await AppDevice.with(.node(node.port)) { bob in
                    try await shown(alice, bob)
                }
            }
        }
    }

    private func shown(_ alice: AppDevice, _ bob: AppDevice) async throws {
        try await alice.signIn(.alice)
        try await bob.signIn(.bob)
        let face = Data(picture(.jpeg, bytes: 200_000))
        try await alice.client.setAvatar(face)
        let url = try #require(alice.client.me?.profile.avatarURL)
        try await bob.waitUntil("her avatar") { client in
            client.conversations.contains { $0.users.contains { $0.avatarURL == url } }
        }
        #expect(try await PictureAnswer.get(url).body == Array(face))

        let view = Data(picture(.png, bytes: 5_000))
        var outgoing = OutgoingAttachment(view)
        (outgoing.width, outgoing.height, outgoing.blurhash) = (40, 30, "L00")
        let attachment = try await alice.client.upload(outgoing, for: .aliceBob)
        // The message waits in the outbox until there is a connection.
        await alice.client.disconnect()
        let own = try await alice.client.loadedChat(with: .aliceBob)
        try await own.send("Look!", attachments: [attachment])
        #expect(own.messages.last?.attachment == attachment)
        try alice.client.connect()
        let chat = try await bob.client.loadedChat(with: .aliceBob)
        try await bob.waitUntil("her picture") { _ in chat.messages.last?.content == "Look!" }
        let seen = try #require(chat.messages.last?.attachment)
        #expect(seen.mediaID == attachment.mediaID && seen.blurhash == "L00" && seen.bytes == 5_000)
        #expect(seen.width == 40 && seen.height == 30 && seen.mimeType == "image/png" && !seen.url.isEmpty)
        let address = try #require(try await bob.client.urls(for: [seen])[seen])
        #expect(try await PictureAnswer.get(address.absoluteString).body == Array(view))
        // It is sent once.
        try await alice.waitUntilLive()
        try await own.send("Again", attachments: [attachment])
        try await alice.waitUntil("the refusal") { $0.refusedChanges.count == 1 }
        #expect(alice.client.refusedChanges[0].error.field == "attachment.media_id")
        await #expect {
            try await alice.client.setAvatar(Data("<svg>".utf8))
        } throws: { error in
            (error as? PostlineError)?.field == "picture"
        }
        await alice.client.disconnect()
        await #expect {
            try await alice.client.setAvatar(face)
        } throws: { error in
            (error as? PostlineError)?.code == .offline
        }
    }
}
