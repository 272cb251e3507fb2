import ChangeFeed
@testable import Messaging
import NIOCore
import Testing
@testable import WireProtocol

@testable import LineServer

@Suite("Outbound queue")
final class OutboundQueueTests {
    var queue = OutboundQueue(maxQueueBytes: 30, targetBatchBytes: 20)

    func line(_ text: String) -> ByteBuffer { ByteBuffer(string: text + "\n") }

    /// Returns a push of 10 bytes.
    func push(_ number: Int) -> Push { Push(line: self.line("push-000\(number)"), cursor: "c\(number)") }

    /// Returns true if the queue accepted the push.
    func offer(_ push: Push) -> Bool { self.queue.push(push) }

    /// Returns true if the push was written directly, as a whole or in part.
    func writeDirectly(_ push: Push, isWhole: Bool = false) -> Bool {
        guard self.queue.acceptsDirectWrite(push) else { return false }
        self.queue.wroteDirectly(push, isWhole: isWhole)
        return true
    }

    func nextBatch() -> [String] { self.queue.nextWriteBatch().map { String(String(buffer: $0).dropLast()) } }

    let lagged = { (cursor: String) in #"{"jsonrpc":"2.0","method":"sync.lagged","params":{"cursor":"\#(cursor)"}}"# }

    @Test("lines leave in order, one write at a time")
    func order() {
        self.queue.startPushes(cursor: "c0")
        self.queue.answer(self.line("answer-01"))
        #expect(self.offer(self.push(1)))
        self.queue.answer(self.line("answer-02"))
        #expect(!self.queue.isEmpty)
        #expect(self.queue.unwrittenAnswerBytes == 20)

        #expect(self.nextBatch() == ["answer-01", "push-0001"])
        #expect(self.queue.isWriteInFlight)
        #expect(self.nextBatch() == [])
        #expect(self.queue.unwrittenAnswerBytes == 20)
        self.queue.writeCompleted()
        #expect(self.queue.unwrittenAnswerBytes == 10)
        #expect(self.nextBatch() == ["answer-02"])
        #expect(!self.queue.isEmpty)
        self.queue.writeCompleted()
        #expect(self.queue.isEmpty)
        #expect(self.queue.unwrittenAnswerBytes == 0)
        #expect(self.nextBatch() == [])
        #expect(!self.queue.isWriteInFlight)
    }

    @Test("a push bypasses only an empty queue")
    func directWrite() {
        #expect(!self.writeDirectly(self.push(1)))
        self.queue.startPushes(cursor: "c0")
        #expect(self.writeDirectly(self.push(1)))
        #expect(self.queue.cursor == "c1")
        // The rest of a push that the kernel accepted in part occupies the one write slot.
        #expect(self.queue.isWriteInFlight)
        #expect(self.nextBatch() == [])
        #expect(!self.writeDirectly(self.push(2)))
        #expect(self.offer(self.push(2)))
        self.queue.writeCompleted()
        #expect(!self.writeDirectly(self.push(3)))
        #expect(self.nextBatch() == ["push-0002"])
        self.queue.writeCompleted()

        self.queue.answer(self.line("answer"))
        #expect(!self.writeDirectly(self.push(3)))
        _ = self.nextBatch()
        self.queue.writeCompleted()
        self.queue.answer(.result(ByteBuffer(string: "1")), id: .integer(1), isWhole: false)
        _ = self.nextBatch()
        self.queue.writeCompleted()
        // Nothing comes between the parts of a line.
        #expect(!self.writeDirectly(self.push(3)))
        self.queue.endBatch()
        _ = self.nextBatch()
        self.queue.writeCompleted()
        #expect(self.writeDirectly(self.push(3), isWhole: true))
        #expect(self.queue.cursor == "c3" && !self.queue.isWriteInFlight)

        let large = Push(line: ByteBuffer(repeating: 0x61, count: 31), cursor: "c4")
        #expect(!self.writeDirectly(large))
        #expect(!self.offer(large))
        #expect(self.queue.needsLagNotice)
        #expect(!self.writeDirectly(self.push(5)))
    }

    @Test("splits a large response without anything in between")
    func largeLines() {
        self.queue.startPushes(cursor: "c0")
        self.queue.answer(ByteBuffer(string: String(repeating: "a", count: 49) + "\n"))
        #expect(self.queue.nextWriteBatch().map(\.readableBytes) == [20])
        #expect(self.queue.unwrittenAnswerBytes == 50)
        for number in 1...4 { _ = self.queue.push(self.push(number)) }
        #expect(self.queue.needsLagNotice)
        self.queue.answer(self.line("b"))
        self.queue.writeCompleted()
        #expect(self.queue.unwrittenAnswerBytes == 32)
        #expect(self.queue.nextWriteBatch().map(\.readableBytes) == [20])
        self.queue.writeCompleted()
        #expect(self.nextBatch() == [String(repeating: "a", count: 9), self.lagged("c0")])
        self.queue.writeCompleted()
        #expect(self.nextBatch() == ["b"])
        self.queue.writeCompleted()
        #expect(self.queue.isEmpty)
    }

    @Test("a goodbye to a slow reader follows the begun response", arguments: [false, true])
    func cutGoodbye(_ isBatch: Bool) {
        let text = #"{"text":"\#(String(repeating: "a", count: 30))"}"#
        self.queue.answer(.result(ByteBuffer(string: text)), id: .integer(1), isWhole: !isBatch)
        self.queue.answer(.result(ByteBuffer(string: text)), id: .integer(2), isWhole: !isBatch)
        var received = self.queue.nextWriteBatch()
        self.queue.close(with: self.line("goodbye"), keepingAnswers: false)
        while !self.queue.isEmpty {
            self.queue.writeCompleted()
            received += self.queue.nextWriteBatch()
        }
        let answer = #"{"jsonrpc":"2.0","id":1,"result":\#(text)}"#
        let whole = received.map { String(buffer: $0) }.joined()
        #expect(whole == (isBatch ? "[\(answer)]" : answer) + "\ngoodbye\n")
        #expect(self.queue.unwrittenAnswerBytes == 0)
    }

    @Test("never drops responses")
    func answers() {
        for number in 0..<1_000 { self.queue.answer(self.line("\(number)")) }
        var received: [String] = []
        while !self.queue.isEmpty {
            received += self.nextBatch()
            self.queue.writeCompleted()
        }
        #expect(received == (0..<1_000).map(String.init))
    }

    @Test("ignores pushes before and after their subscription")
    func wanted() {
        #expect(self.offer(self.push(1)))
        #expect(self.queue.isEmpty)
        #expect(self.queue.cursor == nil)
        self.queue.startPushes(cursor: "c1")
        #expect(self.queue.cursor == "c1")
        #expect(self.offer(self.push(2)))
        self.queue.answer(self.line("a"))
        self.queue.stopPushes()
        #expect(self.offer(self.push(3)))
        #expect(self.nextBatch() == ["a"])
        #expect(self.queue.cursor == nil)
    }

    @Test("drops queued pushes over the limit, and notifies on reading")
    func lagging() {
        self.queue.startPushes(cursor: "c0")
        #expect(self.offer(self.push(1)))
        #expect(self.offer(self.push(2)))
        #expect(self.nextBatch() == ["push-0001", "push-0002"])
        for number in 3...5 { #expect(self.offer(self.push(number))) }
        self.queue.answer(self.line("answer"))
        #expect(!self.queue.needsLagNotice)
        #expect(!self.offer(self.push(6)))
        #expect(self.queue.needsLagNotice)
        #expect(self.queue.cursor == nil)
        #expect(self.offer(self.push(7)))
        #expect(self.nextBatch() == [])

        self.queue.writeCompleted()
        #expect(self.queue.needsLagNotice)
        let batch = self.nextBatch()
        #expect(batch == [self.lagged("c2")])
        #expect(self.queue.needsLagNotice)
        self.queue.writeCompleted()
        #expect(!self.queue.needsLagNotice)
        #expect(self.offer(self.push(8)))
        #expect(self.nextBatch() == ["answer"])
        self.queue.writeCompleted()
        #expect(self.queue.isEmpty)

        self.queue.startPushes(cursor: "c9")
        #expect(self.offer(self.push(1)))
        #expect(self.nextBatch() == ["push-0001"])
    }

    @Test("without a push sent, the lag cursor is the initial one")
    func laggingAtOnce() {
        self.queue.startPushes(cursor: "c0")
        for number in 1...3 { #expect(self.offer(self.push(number))) }
        #expect(!self.offer(self.push(4)))
        #expect(self.nextBatch() == [self.lagged("c0")])
        self.queue.writeCompleted()
        #expect(self.queue.isEmpty)
    }

    @Test("a new subscription clears the lag")
    func restarting() {
        self.queue.startPushes(cursor: "c0")
        for number in 1...4 { _ = self.queue.push(self.push(number)) }
        #expect(self.queue.needsLagNotice)
        self.queue.startPushes(cursor: "c9")
        #expect(!self.queue.needsLagNotice)
        #expect(self.queue.isEmpty)
        #expect(self.offer(self.push(5)))
        #expect(self.nextBatch() == ["push-0005"])
    }

    @Test("a single push over the limit lags; later ones find room")
    func room() {
        self.queue.startPushes(cursor: "c0")
        #expect(!self.offer(Push(line: ByteBuffer(repeating: 0x61, count: 31), cursor: "c1")))
        self.queue.startPushes(cursor: "c1")
        for number in 1...3 { #expect(self.offer(self.push(number))) }
        #expect(self.nextBatch().count == 2)
        #expect(self.offer(self.push(4)))
        #expect(self.offer(self.push(5)))
        #expect(!self.offer(self.push(6)))
    }

    @Test("drops ephemeral pushes over the limit, and keeps the cursor")
    func harmless() {
        let typing = Push(line: self.line("typing-01"), cursor: nil)
        self.queue.startPushes(cursor: "c0")
        #expect(self.offer(typing))
        #expect(self.nextBatch() == ["typing-01"])
        #expect(self.queue.cursor == "c0")
        self.queue.writeCompleted()
        for number in 1...3 { #expect(self.offer(self.push(number))) }
        for _ in 1...3 { #expect(self.offer(typing)) }
        #expect(!self.queue.needsLagNotice)
        #expect(self.nextBatch() == ["push-0001", "push-0002"])
        #expect(self.queue.cursor == "c2")
        self.queue.writeCompleted()
        #expect(self.nextBatch() == ["push-0003"])
    }

    @Test("the cursor follows written pushes and noted positions")
    func cursors() {
        self.queue.startPushes(cursor: "c0")
        self.queue.noteCursor("n0")
        #expect(self.queue.cursor == "n0")
        #expect(self.offer(self.push(1)))
        #expect(self.offer(self.push(2)))
        #expect(self.offer(self.push(3)))
        self.queue.noteCursor("n3")
        #expect(self.queue.cursor == "n0")
        _ = self.nextBatch()
        #expect(self.queue.cursor == "c2")
        self.queue.writeCompleted()
        _ = self.nextBatch()
        #expect(self.queue.cursor == "n3")
        self.queue.noteCursor("n4")
        #expect(self.queue.cursor == "n4")
    }

    @Test("a goodbye is last, follows responses and drops pushes")
    func goodbye() {
        self.queue.startPushes(cursor: "c0")
        self.queue.answer(self.line("answer"))
        #expect(self.offer(self.push(1)))
        self.queue.close(with: self.line("goodbye"), keepingAnswers: true)
        self.queue.answer(self.line("late"))
        _ = self.queue.push(self.push(2))
        self.queue.startPushes(cursor: "c9")
        _ = self.queue.push(self.push(3))
        self.queue.close(with: self.line("again"), keepingAnswers: false)
        #expect(self.nextBatch() == ["answer", "goodbye"])
        self.queue.writeCompleted()
        #expect(self.queue.isEmpty)
        #expect(self.queue.unwrittenAnswerBytes == 0)
    }

    @Test("a goodbye to a slow reader drops all but the current write")
    func slowGoodbye() {
        self.queue.answer(self.line("answer-0001"))
        self.queue.answer(self.line("answer-0002"))
        self.queue.answer(self.line("answer-0003"))
        #expect(self.nextBatch() == ["answer-0001", "answer-0002"])
        self.queue.close(with: self.line("goodbye"), keepingAnswers: false)
        self.queue.writeCompleted()
        #expect(self.nextBatch() == ["goodbye"])
        self.queue.writeCompleted()
        #expect(self.queue.unwrittenAnswerBytes == 0)
        #expect(self.queue.isEmpty)
    }

    @Test("responses arrive in any case, and only reported pushes are lost")
    func random() {
        for seed in 0..<200 as Range<UInt64> {
            var generator = SeededGenerator(state: seed)
            var queue = OutboundQueue(maxQueueBytes: 50, targetBatchBytes: 30)
            var answers = 0
            var parts: [String] = []
            var pushes = 0
            var bytes = ByteBuffer()
            var expected: [String] = []
            var started: [Int] = []
            for _ in 0..<400 {
                switch Int.random(in: 0..<12, using: &generator) {
                case 0..<2 where parts.isEmpty:
                    queue.answer(ByteBuffer(string: "a \(answers)\n"))
                    expected.append("a \(answers)")
                    answers += 1
                case 2..<6:
                    pushes += 1
                    _ = queue.push(Push(line: ByteBuffer(string: "p \(pushes)\n"), cursor: "\(pushes)"))
                case 6:
                    if queue.cursor == nil, !queue.needsLagNotice {
                        queue.startPushes(cursor: "\(pushes)")
                        started.append(pushes)
                    }
                case 7:
                    queue.answer(.result(ByteBuffer(string: "true")), id: .integer(answers), isWhole: false)
                    parts.append(#"{"jsonrpc":"2.0","id":\#(answers),"result":true}"#)
                    answers += 1
                case 8:
                    queue.endBatch()
                    if !parts.isEmpty { expected.append("[\(parts.joined(separator: ","))]") }
                    parts = []
                default:
                    if queue.isWriteInFlight { queue.writeCompleted() }
                    for line in queue.nextWriteBatch() { bytes.writeImmutableBuffer(line) }
                }
            }
            queue.endBatch()
            if !parts.isEmpty { expected.append("[\(parts.joined(separator: ","))]") }
            while !queue.isEmpty {
                if queue.isWriteInFlight { queue.writeCompleted() }
                for line in queue.nextWriteBatch() { bytes.writeImmutableBuffer(line) }
            }
            #expect(queue.unwrittenAnswerBytes == 0)
            let received = String(buffer: bytes).split(separator: "\n").map { String($0) }
            #expect(received.filter { $0.hasPrefix("a ") || $0.hasPrefix("[") } == expected, "seed \(seed)")
            var last = started.first ?? 0
            var starts = started.dropFirst().makeIterator()
            for line in received {
                if line.hasPrefix("p ") {
                    #expect(line == "p \(last + 1)", "seed \(seed)")
                    last += 1
                } else if line.hasPrefix("{") {
                    #expect(line == self.lagged("\(last)"), "seed \(seed)")
                    last = starts.next() ?? last
                }
            }
        }
    }
}

/// A generator that repeats its numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
