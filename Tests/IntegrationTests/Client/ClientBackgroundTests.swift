import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Background sync")
@MainActor
struct ClientBackgroundTests {
    @Test("sends the outbox and fetches in the background, without showing the user as online")
    func synced() async throws {
        try await withDevice { database, node, device in
            #expect(await !device.client.sync())
            try await device.signIn(.alice)
            try await device.relaunch(inBackground: true)
            let client = device.client
            let chats = [
                try await client.loadedChat(with: .aliceBob), try await client.loadedChat(with: .aliceCarol),
            ]
            for number in 1...3 {
                for chat in chats { try await chat.send("background \(number)") }
            }
            let bob = try await node.signedIn(.bob)
            try await bob.send("his own", to: Room.aliceBob)
            #expect(client.pendingChangeCount == 6)
            #expect(await client.sync())
            #expect(client.pendingChangeCount == 0 && chats[0].contents.contains("his own"))
            #expect(
                try await database.value("select count(*) from messages where content like 'background%'")
                    == "6")
            guard case .offline = client.state else {
                Issue.record("it is \(client.state)")
                return
            }
            // In the foreground it waits for the live connection.
            await client.enterForeground()
            try await device.waitUntilLive()
            try await chats[0].send("foreground")
            #expect(await client.sync() && chats[0].messages.last?.delivery == .sent)
            // Nothing connects after `disconnect`.
            await client.disconnect()
            #expect(await !client.sync())
        }
    }

    @Test("a time limit or a cancelled task ends the sync, and each change is sent once")
    func ended() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                await device.client.enterBackground()
                try await device.client.send("Hello", in: .aliceBob)
                server.answer("messages.send", "silence")
                #expect(await !device.client.sync(within: .milliseconds(200)))
                let client = device.client
                let before = server.calls("messages.send").count
                let task = Task { await client.sync(within: .seconds(3_600)) }
                try await device.waitUntil("the send") { _ in server.calls("messages.send").count == before + 1 }
                task.cancel()
                #expect(await !task.value)
                #expect(client.pendingChangeCount == 1)
                // A refused change is not pending.
                server.answer("messages.send", "error:forbidden")
                #expect(await client.sync())
                #expect(client.refusedChanges.count == 1 && client.pendingChangeCount == 0)
                let ids = Set(server.calls("messages.send").map { $0["client_id"] })
                #expect(ids.count == 1)
            }
        }
    }
}
