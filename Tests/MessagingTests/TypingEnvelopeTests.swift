import Testing

@testable import Messaging

@Suite("Typing notices between nodes")
struct TypingEnvelopeTests {
    private var one = TypingEnvelope(secret: "a secret of all nodes")
    private var other = TypingEnvelope(secret: "a secret of all nodes")
    private let notices = (0..<TypingEnvelope.capacity).map { number in
        TypingNotice(conversation: .random(), user: .random(), isTyping: number % 2 == 0)
    }

    @Test("as many as a notification holds come through, in order, and no second time")
    mutating func wayThrough() {
        let payload = one.seal(notices)
        #expect(payload.utf8.count < 8_000)
        #expect(other.open(payload) == notices)
        #expect(other.open(payload) == [])
        let next = one.seal(notices.prefix(1))
        #expect(other.open(next) == [notices[0]])
        // One that was overtaken is lost.
        #expect(other.open(payload) == [])
    }

    @Test("a node does not hear itself")
    mutating func itself() {
        let payload = one.seal(notices)
        #expect(one.open(payload) == [])
    }

    @Test("what anybody else says on the channel is nothing")
    mutating func strangers() {
        let payload = one.seal(notices.prefix(2))
        var stranger = TypingEnvelope(secret: "a guess at the secret")
        let forged = [
            "", " ", "hello", stranger.seal(notices.prefix(1)), payload + "0", payload.replacing("/1", with: "/0"),
            String(payload.drop { $0 != " " }.dropFirst()), payload.uppercased(),
            "0000 \(ID.random()) 1 \(notices[0].conversation)/\(notices[0].user)/1",
            String(payload.dropFirst(2)), "00" + payload, "0" + payload, "g" + payload.dropFirst(),
        ]
        for payload in forged { #expect(other.open(payload) == [], "\(payload)") }
        // Each digit of the seal counts, not only the last.
        let seal = Array(payload.prefix { $0 != " " })
        for place in seal.indices {
            for digit in "0123456789abcdef" where digit != seal[place] {
                var forged = seal
                forged[place] = digit
                #expect(other.open(String(forged) + payload.dropFirst(seal.count)) == [])
            }
        }
        #expect(other.open(payload) == Array(notices.prefix(2)))
    }
}
