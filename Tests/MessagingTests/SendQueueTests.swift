import Testing

@testable import Messaging

@Suite("Send queue")
struct SendQueueTests {
    private typealias Queue = SendQueue<Int, String>

    private static func waiter(_ number: Int, in conversations: Int...) -> SendWaiter<Int> {
        SendWaiter(texts: OutgoingText.several(conversations), continuation: number)
    }

    /// Returns a description of each step.
    private static func descriptions(_ steps: [Queue.Step]?) -> [String]? {
        steps?.map { step in
            switch step {
            case .timedOut(let waiter): "timed out \(waiter.continuation)"
            case .individually(let waiter): "individually \(waiter.continuation)"
            case .batch(let waiters, let sender): "\(sender) sends \(waiters.map(\.continuation))"
            case .unbatched(let waiters): "unbatched \(waiters.map(\.continuation))"
            }
        }
    }

    private var queue = Queue(waitTimeout: .seconds(60))

    /// Adds two idle senders.
    private mutating func addSenders() {
        let areAdded = [queue.addIdleSender("one"), queue.addIdleSender("two")]
        #expect(areAdded == [true, true])
    }

    @Test("sends the first text at once and batches those that arrive meanwhile")
    mutating func batch() {
        addSenders()
        let first = Self.waiter(0, in: 0)
        var steps = queue.enqueue(first)
        #expect(Self.descriptions(steps) == nil)
        for number in 1...3 {
            steps = queue.enqueue(Self.waiter(number, in: number))
            #expect(Self.descriptions(steps) == [])
        }
        steps = queue.batchEnded(first.texts)
        #expect(Self.descriptions(steps) == ["two sends [1, 2, 3]"])
    }

    @Test("sends a second text at once while only single texts are sent, also of one conversation")
    mutating func individually() {
        addSenders()
        let (first, second, third) = (Self.waiter(0, in: 0), Self.waiter(1, in: 1), Self.waiter(2, in: 1))
        var steps = queue.enqueue(first)
        steps = queue.enqueue(second)
        steps = queue.batchEnded(first.texts)
        #expect(Self.descriptions(steps) == ["individually 1"])
        steps = queue.enqueue(third)
        #expect(Self.descriptions(steps) == nil)
        steps = queue.enqueue(Self.waiter(3, in: 3))
        #expect(Self.descriptions(steps) == [])
        steps = queue.batchEnded(second.texts)
        #expect(Self.descriptions(steps) == ["individually 3"])
    }

    @Test("sends no second text at once after a batch")
    mutating func afterBatch() {
        addSenders()
        let (first, second, third) = (Self.waiter(0, in: 0), Self.waiter(1, in: 1), Self.waiter(2, in: 2))
        var steps = queue.enqueue(first)
        steps = queue.enqueue(second)
        steps = queue.enqueue(third)
        steps = queue.batchEnded(first.texts)
        #expect(Self.descriptions(steps) == ["two sends [1, 2]"])
        steps = queue.batchEnded(second.texts + third.texts)
        steps = queue.enqueue(first)
        #expect(Self.descriptions(steps) == nil)
        steps = queue.enqueue(second)
        #expect(Self.descriptions(steps) == [])
    }

    @Test("batches several texts of one client at once")
    mutating func pipelined() {
        addSenders()
        let steps = queue.enqueue(Self.waiter(0, in: 0, 0, 1))
        #expect(Self.descriptions(steps) == ["two sends [0]"])
    }

    @Test("begins a second batch once it is full, and no third")
    mutating func second() {
        addSenders()
        var steps = queue.enqueue(Self.waiter(0, in: 0))
        for number in 1..<64 {
            steps = queue.enqueue(Self.waiter(number, in: number))
            #expect(Self.descriptions(steps) == [])
        }
        steps = queue.enqueue(Self.waiter(64, in: 64))
        #expect(Self.descriptions(steps) == ["two sends \(Array(1...64))"])
        for number in 1...99 {
            steps = queue.enqueue(Self.waiter(number, in: number))
            #expect(Self.descriptions(steps) == [])
        }
    }

    @Test("times out texts that waited too long")
    mutating func timeout() {
        queue = Queue(waitTimeout: .zero)
        addSenders()
        let first = Self.waiter(0, in: 0)
        var steps = queue.enqueue(first)
        let all = (queue.enqueue(Self.waiter(1, in: 1)) ?? []) + queue.batchEnded(first.texts)
        #expect(Self.descriptions(all) == ["timed out 1"])
        steps = queue.enqueue(Self.waiter(2, in: 1))
        #expect(Self.descriptions(steps) == nil)
    }

    @Test("ends idle senders and stops batching")
    mutating func stop() {
        addSenders()
        let first = Self.waiter(0, in: 0)
        var steps = queue.enqueue(first)
        steps = queue.stop()
        #expect(Self.descriptions(steps) == ["one sends []", "two sends []"])
        let isAdded = queue.addIdleSender("three")
        #expect(!isAdded)
        steps = queue.enqueue(Self.waiter(1, in: 1))
        steps = queue.enqueue(Self.waiter(2, in: 2))
        steps = queue.batchEnded(first.texts)
        #expect(Self.descriptions(steps) == ["unbatched [1, 2]"])
    }
}
