import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Messages that stream, in the client")
@MainActor
struct ClientStreamingTests {
    @Test("a text grows on all devices, and is a message like any other at its end")
    func grows() async throws {
        try await withAliceAndBob { _, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            let his = try await bob.client.loadedChat(with: .aliceBob)
            let stream = try await alice.client.stream(in: .aliceBob)
            #expect(chat.messages.last?.isStreaming == true && chat.messages.last?.content == "")
            var text = ""
            for piece in ["Once", " upon 😀", "", " a time"] {
                try await stream.append(piece)
                text += piece
                #expect(stream.length == text.unicodeScalars.count)
                for device in [alice, bob] {
                    try await device.waitUntil("the text so far") { client in
                        client.conversations.first { $0.id == .aliceBob }?.lastMessageContent == text
                    }
                }
                for last in [chat.messages.last, his.messages.last] {
                    #expect(last?.content == text && last?.isStreaming == true)
                }
            }
            // A device that was away gets what it misses.
            await bob.client.disconnect()
            try await stream.append("…")
            try await bob.relaunch()
            let again = try await bob.client.loadedChat(with: .aliceBob)
            try await bob.waitUntil("what was missed") { _ in again.messages.last?.content == text + "…" }
            try await stream.finish()
            try await stream.finish()
            for (device, chat) in [(alice, chat), (bob, again)] {
                try await device.waitUntil("the end") { _ in chat.messages.last?.isStreaming == false }
                let message = try #require(chat.messages.last)
                #expect(message.content == text + "…" && message.editedAt == nil && message.delivery == .sent)
            }
            try await alice.client.edit(try #require(chat.messages.last), to: "The end")
            try await bob.waitUntil("the edit") { _ in again.messages.last?.content == "The end" }
        }
    }

    @Test("refuses a second call at once, a text that is too long, and others' messages")
    func refused() async throws {
        try await withAliceAndBob { database, alice, bob in
            let stream = try await alice.client.stream(in: .aliceBob, "A")
            func code(_ text: String) async -> PostlineError.Code? {
                do {
                    try await stream.append(text)
                    return nil
                } catch {
                    return error.code
                }
            }
            async let first = code("B")
            async let second = code("C")
            #expect(Set([await first, await second]) == [nil, .invalidRequest])
            #expect(await code(String(repeating: "x", count: 7_999)) == .invalidParams)
            await #expect {
                try await alice.client.stream(in: .aliceBob, String(repeating: "x", count: 8_001))
            } throws: { ($0 as? PostlineError)?.code == .invalidParams }
            await #expect {
                try await bob.client.stream(in: .aliceCarol)
            } throws: { ($0 as? PostlineError)?.code == .notFound }
            let empty = try await alice.client.stream(in: .aliceBob)
            await #expect {
                try await empty.finish()
            } throws: { ($0 as? PostlineError)?.code == .forbidden }
            try await database.psql("update app.message_streams set appended_at = now() - interval '61 seconds'")
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            try await alice.waitUntil("the end") { _ in !chat.messages.contains(where: \.isStreaming) }
            #expect(chat.messages.last?.deletedAt != nil)
            await #expect {
                try await stream.append("E")
            } throws: { ($0 as? PostlineError)?.code == .forbidden }
        }
    }
}
