import Testing

@testable import Messaging

@Suite("Which texts wait, and which are under way")
struct SendQueueTests {
    private typealias Queue = SendQueue<Int, String>

    private static func waiter(_ number: Int, in conversations: Int...) -> SendWaiter<Int> {
        SendWaiter(texts: OutgoingText.several(conversations), caller: number)
    }

    /// What the queue decided, as words.
    private static func words(_ steps: [Queue.Step]?) -> [String]? {
        steps?.map { step in
            switch step {
            case .late(let waiter): "late \(waiter.caller)"
            case .alone(let waiter): "alone \(waiter.caller)"
            case .together(let group, let sender): "\(sender) sends \(group.map(\.caller))"
            case .apart(let waiters): "apart \(waiters.map(\.caller))"
            }
        }
    }

    private var queue = Queue(waitTimeout: .seconds(60))

    /// Two who send groups are there.
    private mutating func open() {
        let isOpen = [queue.wait("one"), queue.wait("two")]
        #expect(isOpen == [true, true])
    }

    @Test("a text that comes when nothing is under way is sent at once; what comes meanwhile waits, and goes together")
    mutating func together() {
        open()
        let first = Self.waiter(0, in: 0)
        var steps = queue.take(first)
        #expect(Self.words(steps) == nil)
        for number in 1...3 {
            steps = queue.take(Self.waiter(number, in: number))
            #expect(Self.words(steps) == [])
        }
        steps = queue.ended(first.texts)
        #expect(Self.words(steps) == ["two sends [1, 2, 3]"])
    }

    @Test("one that is alone when its turn comes is a group of one; of its conversation nobody goes beside it")
    mutating func alone() {
        open()
        let (first, second) = (Self.waiter(0, in: 0), Self.waiter(1, in: 1))
        var steps = queue.take(first)
        steps = queue.take(second)
        steps = queue.ended(first.texts)
        #expect(Self.words(steps) == ["alone 1"])
        steps = queue.take(Self.waiter(2, in: 1))
        #expect(Self.words(steps) == [])
        steps = queue.ended(second.texts)
        #expect(Self.words(steps) == ["alone 2"])
    }

    @Test("several texts of one client are a group from the start")
    mutating func run() {
        open()
        let steps = queue.take(Self.waiter(0, in: 0, 0, 1))
        #expect(Self.words(steps) == ["two sends [0]"])
    }

    @Test("a second group begins beside the first once it is full, and no third")
    mutating func second() {
        open()
        var steps = queue.take(Self.waiter(0, in: 0))
        for number in 1..<64 {
            steps = queue.take(Self.waiter(number, in: number))
            #expect(Self.words(steps) == [])
        }
        steps = queue.take(Self.waiter(64, in: 64))
        #expect(Self.words(steps) == ["two sends \(Array(1...64))"])
        for number in 1...99 {
            steps = queue.take(Self.waiter(number, in: number))
            #expect(Self.words(steps) == [])
        }
    }

    @Test("who has waited for too long is told so")
    mutating func late() {
        queue = Queue(waitTimeout: .zero)
        open()
        let first = Self.waiter(0, in: 0)
        var steps = queue.take(first)
        let all = (queue.take(Self.waiter(1, in: 1)) ?? []) + queue.ended(first.texts)
        #expect(Self.words(all) == ["late 1"])
        steps = queue.take(Self.waiter(2, in: 1))
        #expect(Self.words(steps) == nil)
    }

    @Test("where nobody sends groups each is sent alone, and who waited to send them is told that there are none")
    mutating func ending() {
        open()
        let first = Self.waiter(0, in: 0)
        var steps = queue.take(first)
        steps = queue.end()
        #expect(Self.words(steps) == ["one sends []", "two sends []"])
        let isKept = queue.wait("three")
        #expect(!isKept)
        steps = queue.take(Self.waiter(1, in: 1))
        steps = queue.take(Self.waiter(2, in: 2))
        steps = queue.ended(first.texts)
        #expect(Self.words(steps) == ["apart [1, 2]"])
    }
}
