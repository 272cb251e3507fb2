import NIOCore
import NIOEmbedded
import Testing

@testable import Gateway

@Suite("Event streams")
struct EventStreamFramingTests {
    /// Writes parts of lines, and returns the stream.
    private static func stream(_ parts: [String]) throws -> (text: String, channel: EmbeddedChannel) {
        let configuration = EventStreamFraming.Configuration(
            accessToken: "token", cursor: nil, messagesPerConversation: nil, resumption: nil)
        let channel = EmbeddedChannel(handler: EventStreamFraming(configuration))
        var text = ""
        for part in parts {
            try channel.writeOutbound(ByteBuffer(string: part))
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        }
        channel.embeddedEventLoop.run()
        return (text, channel)
    }

    private static func changes(_ cursor: String) -> String {
        #"{"cursor":"\#(cursor)","reset":false,"more":false,"left":["x"]}"#
    }

    @Test("an event has the whole cursor as its id", arguments: [20, 400, 511, 512, 5_000, 60_000])
    func cursors(_ length: Int) throws {
        let cursor = String(repeating: "1", count: length)
        let changes = Self.changes(cursor)
        for start in [#"{"jsonrpc":"2.0","method":"changes","params":"#, #"{"jsonrpc":"2.0","id":2,"result":"#] {
            let (text, _) = try Self.stream([start + changes + "}\n"])
            #expect(text == "id: \(cursor)\ndata: \(changes)\n\n")
        }
    }

    @Test("a Changes without a readable cursor ends the stream, and is not skipped")
    func unreadable() throws {
        let (text, channel) = try Self.stream([#"{"jsonrpc":"2.0","method":"changes","params":{"cursor":"1"#])
        #expect(text.hasPrefix("event: goodbye\ndata: {") && text.contains(#""reconnect":true"#))
        #expect(!channel.isActive)
    }
}
