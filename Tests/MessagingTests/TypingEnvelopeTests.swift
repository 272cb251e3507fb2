@testable import ChangeFeed
import Foundation
@testable import Foundations
import Synchronization
import Testing

/// The envelope of typing notices (A10).
@Suite("Typing envelope")
struct TypingEnvelopeTests {
    private var one = TypingEnvelope(secret: "a secret of all nodes")
    private var other = TypingEnvelope(secret: "a secret of all nodes")
    private let notices = (0..<TypingEnvelope.capacity).map { number in
        TypingNotice(conversation: .random(), user: .random(), isTyping: number % 2 == 0)
    }

    @Test("carries notices in order, without replay")
    mutating func wayThrough() throws {
        let payload = try one.seal(notices)
        #expect(payload.utf8.count < 8_000)
        #expect(other.open(payload) == notices)
        #expect(other.open(payload) == [])
        let next = try one.seal(notices.prefix(1))
        #expect(other.open(next) == [notices[0]])
        // A reordered payload is ignored.
        #expect(other.open(payload) == [])
    }

    @Test("ignores the node's own notices")
    mutating func itself() throws {
        let payload = try one.seal(notices)
        #expect(one.open(payload) == [])
    }

    @Test("hides ids from listeners without the secret")
    mutating func unreadable() throws {
        let first = try one.seal(notices.prefix(1))
        let second = try one.seal(notices.prefix(1))
        let bytes = try #require(Data(base64Encoded: first))
        for text in [first, String(decoding: bytes, as: UTF8.self)] {
            for id in [notices[0].conversation, notices[0].user] { #expect(!text.contains("\(id)")) }
        }
        // Equal notices have different payloads in every part.
        #expect(first.prefix(16) != second.prefix(16) && first.suffix(16) != second.suffix(16))
    }

    @Test("ignores other versions and foreign payloads")
    mutating func strangers() throws {
        let payload = try one.seal(notices.prefix(2))
        var stranger = TypingEnvelope(secret: "a guess at the secret")
        let notice = "\(notices[0].conversation)/\(notices[0].user)/1"
        let forged = [
            "", " ", "hello", "AAAA", try stranger.seal(notices.prefix(1)), payload + "0", payload + "AAAA",
            String(payload.dropLast(4)), payload.uppercased(), String(payload.dropFirst(4)),
            "\(ID.random()) 1 \(notice)", Data("\(ID.random()) 1 0 \(notice)".utf8).base64EncodedString(),
            "\(String(repeating: "0", count: 64)) \(ID.random()) 1 \(notice)",
        ]
        for payload in forged { #expect(other.open(payload) == [], "\(payload)") }
        // Any changed bit is detected.
        let bytes = [UInt8](try #require(Data(base64Encoded: payload)))
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(other.open(Data(changed).base64EncodedString()) == [], "\(place)")
        }
        #expect(other.open(payload) == Array(notices.prefix(2)))
    }

    @Test(
        "accepts a clock skew of 15 s, and nothing from before its start",
        arguments: [
            (-16.0, false), (-15.1, false), (-14.9, true), (-1, true), (0, true), (1, true), (14.9, true),
            (15.1, false),
            (3_600, false), (1e300, false),
        ])
    func time(_ difference: Double, _ isAccepted: Bool) throws {
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        let clock = TestClock(start)
        var sender = TypingEnvelope(secret: "a secret", now: { clock.now })
        clock.now = start - 3_600
        var receiver = TypingEnvelope(secret: "a secret", now: { clock.now })
        clock.now = start
        let payload = try sender.seal(notices.prefix(1))
        clock.now = start + difference
        #expect(receiver.open(payload).isEmpty != isAccepted)
        // A node that starts just after the payload was sent.
        clock.now = start + 0.001
        var restarted = TypingEnvelope(secret: "a secret", now: { clock.now })
        #expect(restarted.open(payload) == [])
    }

    private final class TestClock: Sendable {
        private let state: Mutex<Date>
        var now: Date {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }

        init(_ now: Date) { state = Mutex(now) }
    }
}
