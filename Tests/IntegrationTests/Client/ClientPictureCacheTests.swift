import BoundedWait
import Foundation
import Foundations
import TestSupport
import Testing

@testable import Messaging
@testable import Postline

@Suite("Client picture cache")
@MainActor
struct ClientPictureCacheTests {
    private func withDevices(_ body: @MainActor (TestNode, AppDevice, AppDevice) async throws -> Void) async throws {
        try await withPictures { node, _ in
            try await AppDevice.with(.node(node.port)) { alice in
                try await AppDevice.with(.node(node.port)) { bob in
                    try await alice.signIn(.alice)
                    try await bob.signIn(.bob)
                    try await body(node, alice, bob)
                }
            }
        }
    }

    @Test("loads pictures of messages and avatars, offline from the cache, until the sign-out")
    func loaded() async throws {
        try await withDevices { node, alice, bob in
            let (view, face) = (Data(picture(.gif, bytes: 90_000)), Data(picture(.jpeg, bytes: 20_000)))
            try await alice.client.setAvatar(face)
            let attachment = try await alice.client.upload(OutgoingAttachment(view), for: .aliceBob)
            try await alice.client.send("Look!", in: .aliceBob, attachments: [attachment])
            let chat = try await bob.client.loadedChat(with: .aliceBob)
            try await bob.waitUntil("her picture") { _ in
                chat.messages.last?.content == "Look!" && chat.messages.last?.sender?.avatarURL != nil
            }
            let seen = try #require(chat.messages.last?.attachment)
            let avatar = try #require(chat.messages.last?.sender?.avatar)
            #expect(try await bob.client.pictures.picture(of: seen) == view)
            #expect(try await bob.client.pictures.picture(of: avatar) == face)
            // Another launch, without a connection.
            await bob.client.disconnect()
            try await bob.relaunch(inBackground: true)
            let pictures = bob.client.pictures
            #expect(try await pictures.picture(of: seen) == view)
            #expect(try await pictures.picture(of: avatar, maxPixels: 80) == face)
            var unseen = seen
            unseen.mediaID = UUID().uuidString.lowercased()
            await #expect {
                try await pictures.picture(of: unseen)
            } throws: { error in
                (error as? PostlineError)?.code == .offline
            }
            await bob.client.enterForeground()
            try await bob.waitUntilLive()
            await #expect {
                try await pictures.picture(of: unseen)
            } throws: { error in
                (error as? PostlineError)?.code == .notFound
            }
            let folder = bob.folder.appending(path: "\(Person.bob.id).sqlite.pictures")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
            try await bob.client.signOut()
            #expect(!FileManager.default.fileExists(atPath: folder.path))
            for loader in [pictures, bob.client.pictures] {
                await #expect {
                    try await loader.picture(of: seen)
                } throws: { error in
                    (error as? PostlineError)?.code == .signedOut
                }
            }
            // A user who may not see it has another loader and cache.
            try await bob.signIn(.carol)
            await #expect {
                try await bob.client.pictures.picture(of: seen)
            } throws: { error in
                (error as? PostlineError)?.code == .notFound
            }
        }
    }
}
