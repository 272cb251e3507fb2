@testable import ChangeFeed
import NIOCore
import Postgres
import Synchronization
import Testing
import WireProtocol

@Suite("Push dispatcher")
struct PushDispatcherTests {
    private let reactor = Reactor(name: "dispatcher")

    @Test("delivers every push once and in order")
    func order() {
        let dispatcher = PushDispatcher(on: reactor)
        let loops = [RecordingLoop(), RecordingLoop()]
        let sinks = sinks(500, on: loops)
        let all = Array(sinks.keys)
        let deliveries = [all, Array(all.prefix(3)), [], Array(all.shuffled().prefix(300)), all].enumerated().map {
            Fanout.AddressedPush(subscribers: $0.element, push: push($0.offset))
        }
        dispatcher.deliver(deliveries, to: sinks)
        for (id, sink) in sinks {
            let expected = deliveries.filter { $0.subscribers.contains(id) }.map { String(buffer: $0.push.line) }
            #expect((sink as? LoopSink)?.lines == expected)
        }
    }

    @Test("dispatches in small parts while loops write")
    func parts() {
        let dispatcher = PushDispatcher(on: reactor)
        let loop = RecordingLoop()
        let sinks = sinks(3 * PushDispatcher.receiversAtOnce + 1, on: [loop])
        dispatcher.deliver([Fanout.AddressedPush(subscribers: Array(sinks.keys), push: push(1))], to: sinks)
        // The first part is small, so that the loop begins to write early.
        #expect(loop.parts == [16, 128, 128, 113])
        let few = Array(sinks.keys.prefix(5))
        dispatcher.deliver((2...4).map { Fanout.AddressedPush(subscribers: few, push: push($0)) }, to: sinks)
        #expect(loop.parts.dropFirst(4) == [15])
    }

    @Test("completes when every loop has written its pushes")
    func end() async throws {
        let dispatcher = PushDispatcher(on: reactor)
        #expect(!dispatcher.hasUnwrittenPushes)
        try await dispatcher.waitUntilWritten()
        let loops = [RecordingLoop(), RecordingLoop()]
        let sinks = sinks(600, on: loops)
        dispatcher.deliver([Fanout.AddressedPush(subscribers: Array(sinks.keys), push: push(1))], to: sinks)
        loops[0].write()
        #expect(dispatcher.hasUnwrittenPushes)
        #expect(dispatcher.lastDispatchDuration == .zero)
        async let end: Void = dispatcher.waitUntilWritten()
        loops[1].write()
        try await end
        #expect(!dispatcher.hasUnwrittenPushes)
        #expect(dispatcher.lastDispatchDuration > .zero)
    }

    @Test("skips closed sessions")
    func gone() {
        let dispatcher = PushDispatcher(on: reactor)
        dispatcher.deliver([Fanout.AddressedPush(subscribers: [1, 2], push: push(1))], to: [:])
        #expect(!dispatcher.hasUnwrittenPushes)
    }

    private func push(_ number: Int) -> Push { Push(line: ByteBuffer(string: "\(number)\n"), cursor: nil) }

    private func sinks(_ count: Int, on loops: [RecordingLoop]) -> [Fanout.SubscriptionID: any ClientSink] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, LoopSink(loops[$0 % loops.count], reactor)) })
    }
}

/// An event loop that records its pushes and completes them when the test decides.
private final class RecordingLoop: PushTarget {
    private let given = Mutex<(parts: [Int], unwritten: [@Sendable () -> Void])>(([], []))

    /// The number of receivers of each part.
    var parts: [Int] { given.withLock(\.parts) }

    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) {
        for push in pushes {
            for receiver in push.receivers { (receiver as? LoopSink)?.take(push.push) }
        }
        given.withLock {
            $0.parts.append(pushes.reduce(0) { $0 + $1.receivers.count })
            $0.unwritten.append(written)
        }
    }

    func write() {
        let unwritten = given.withLock { given in
            defer { given.unwritten = [] }
            return given.unwritten
        }
        for written in unwritten { written() }
    }
}

private final class LoopSink: ClientSink {
    private let loop: RecordingLoop
    private let reactor: Reactor
    private let taken = Mutex<[String]>([])

    init(_ loop: RecordingLoop, _ reactor: Reactor) {
        self.loop = loop
        self.reactor = reactor
    }

    var lines: [String] { taken.withLock { $0 } }
    func take(_ push: Push) { taken.withLock { $0.append(String(buffer: push.line)) } }

    var executor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }
    let acceptsPushes = true
    var pushTarget: any PushTarget { loop }

    func startPushes(cursor: String) {}
    func stopPushes() {}
    func fallBehind() {}
    func noteCursor(_ cursor: String) {}
    func setExpiry(_ expiry: Expiry?) {}
    func goodbye(_ goodbye: Goodbye) {}
}
