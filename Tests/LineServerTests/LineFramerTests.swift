import NIOCore
import Testing

@testable import LineServer

@Suite("Line framer")
struct LineFramerTests {
    enum Event: Equatable {
        case line(String)
        case tooLong
        case endless
    }

    func events(_ chunks: [[UInt8]], limit: Int = 8, unended: Int = 32) -> [Event] {
        var framer = LineFramer(maxLineBytes: limit, maxUnendedBytes: unended)
        var events: [Event] = []
        for chunk in chunks {
            framer.feed(ByteBuffer(bytes: chunk))
            while let event = framer.next() {
                switch event {
                case .line(let line): events.append(.line(String(buffer: line)))
                case .tooLong: events.append(.tooLong)
                case .endless: events.append(.endless)
                }
            }
        }
        return events
    }

    static let streams: [(String, [Event])] = [
        ("a\nbc\n", [.line("a"), .line("bc")]),
        ("a\r\nb\n\r\n\n\n c\r\n", [.line("a"), .line("b"), .line(" c")]),
        ("12345678\n12345678\r\n123456789\nx\n", [.line("12345678"), .line("12345678"), .tooLong, .line("x")]),
        ("123456789\r\n1234567\r\r\n\r\r\n", [.tooLong, .line("1234567\r"), .line("\r")]),
        ("12345678\rx\n12345678\r\r\ny\n", [.tooLong, .tooLong, .line("y")]),
        (
            "123456789012345678901234567890\r\nx\n12345678901234567890\n\ny\n",
            [.tooLong, .line("x"), .tooLong, .line("y")]
        ),
        ("a\n12345678901234567890123456789012\nb\n", [.line("a"), .tooLong, .line("b")]),
        ("a\n123456789012345678901234567890123\nb\n", [.line("a"), .tooLong, .endless]),
        ("a\n" + String(repeating: "x", count: 200), [.line("a"), .tooLong, .endless]),
        ("12345678", []),
        ("12345678\r", []),
        ("12345678\r\r", [.tooLong]),
        ("\n\r\n\ra\n\n\r\n\r\r\nb\n\r", [.line("\ra"), .line("\r"), .line("b")]),
        ("é\n€\n", [.line("é"), .line("€")]),
    ]

    @Test("reads lines in one piece", arguments: LineFramerTests.streams)
    func whole(_ stream: String, _ expected: [Event]) {
        #expect(self.events([Array(stream.utf8)]) == expected)
    }

    @Test("reads lines one byte at a time", arguments: LineFramerTests.streams)
    func bytes(_ stream: String, _ expected: [Event]) {
        #expect(self.events(stream.utf8.map { [$0] }) == expected)
    }

    @Test("reads lines split in three at every two points", arguments: LineFramerTests.streams)
    func splits(_ stream: String, _ expected: [Event]) {
        let bytes = Array(stream.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let chunks = [bytes[..<first], bytes[first..<second], bytes[second...]].map(Array.init)
                #expect(self.events(chunks) == expected)
            }
        }
    }

    @Test("discards HTTP header fields, split at any byte")
    func http() {
        let cases: [(String, [String])] = [
            ("GET / HTTP/1.1\r\nHost: a\r\nX-Y_2:\r\n\r\nb\r\n", ["GET / HTTP/1.1", "b"]),
            ("GET / HTTP/1.0\nHost: a\n\n{\"a\":1}\n", ["GET / HTTP/1.0", "{\"a\":1}"]),
            ("GET / HTTP/1.1\nHost: a\n{\"a\":1}\nHost: a\n", ["GET / HTTP/1.1", "{\"a\":1}", "Host: a"]),
            ("GET / HTTP/1.1\n[1]\n \"a\":1\n: a\n", ["GET / HTTP/1.1", "[1]", " \"a\":1", ": a"]),
            ("GET / HTTP/1.1\nA: a\nGET / HTTP/1.1\nA: a\n", ["GET / HTTP/1.1", "GET / HTTP/1.1"]),
            ("Host: a\nGET /\nHost: a\n", ["Host: a", "GET /", "Host: a"]),
        ]
        for (stream, lines) in cases {
            let expected = lines.map { Event.line($0) }
            #expect(events([Array(stream.utf8)], limit: 64) == expected, "\(stream)")
            #expect(events(stream.utf8.map { [$0] }, limit: 64) == expected, "\(stream)")
        }
    }

    @Test("reads a thousand lines one by one")
    func manyLines() {
        var framer = LineFramer(maxLineBytes: 100)
        framer.feed(ByteBuffer(string: (0..<1_000).map { "line \($0)\n" }.joined()))
        for number in 0..<500 {
            let next = framer.next()
            #expect(next == .line(ByteBuffer(string: "line \(number)")))
        }
        framer.feed(ByteBuffer(string: "last\n"))
        for number in 500..<1_000 {
            let next = framer.next()
            #expect(next == .line(ByteBuffer(string: "line \(number)")))
        }
        var next = framer.next()
        #expect(next == .line(ByteBuffer(string: "last")))
        next = framer.next()
        #expect(next == nil)
    }

    @Test("keeps nothing of 10,000 oversized lines")
    func longLines() {
        var framer = LineFramer(maxLineBytes: 65_536)
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: 10_000)
        for _ in 0..<10_000 {
            var events: [LineFramer.Event] = []
            for _ in 0..<8 {
                framer.feed(part)
                while let event = framer.next() { events.append(event) }
                #expect(framer.heldBytes <= 1 << 17)
            }
            framer.feed(ByteBuffer(string: "\n"))
            while let event = framer.next() { events.append(event) }
            #expect(events == [.tooLong])
            #expect(framer.heldBytes == 0)
        }
    }

    @Test("a line's beginning does not retain earlier lines")
    func compacting() {
        var framer = LineFramer(maxLineBytes: 65_536)
        framer.feed(ByteBuffer(string: String(repeating: "x", count: 60_000) + "\nbeginning"))
        var next = framer.next()
        #expect(next != nil)
        next = framer.next()
        #expect(next == nil)
        #expect(framer.heldBytes < 100)
        framer.feed(ByteBuffer(string: " and end\n"))
        next = framer.next()
        #expect(next == .line(ByteBuffer(string: "beginning and end")))
    }

    @Test("the stream limit is at least the largest line")
    func largeLimit() {
        var framer = LineFramer(maxLineBytes: 2 << 20)
        framer.feed(ByteBuffer(repeating: UInt8(ascii: "x"), count: 2 << 20))
        let next = framer.next()
        #expect(next == nil)
        framer.feed(ByteBuffer(string: "\r\n"))
        guard case .line(let line)? = framer.next() else {
            Issue.record("no line")
            return
        }
        #expect(line.readableBytes == 2 << 20)
    }
}
