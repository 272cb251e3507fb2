import BoundedWait
import Concurrency
import Foundation
import Foundations
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite("Event-loop turn budget", .timeLimit(.minutes(20)))
struct TurnBudgetTests {
    @Test("work that queues more work lets its loop read other sockets")
    func chain() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        var ends: [Int32] = [0, 0]
        #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (near, far) = (ends[0], ends[1])
        let done = Mutex(0)
        let (reads, read) = AsyncStream.makeStream(of: Int.self)
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ReadObserver { read.yield(done.withLock { $0 }) })
                }
            }
            .withConnectedSocket(near).get()
        // Sent from the loop, so that the byte has arrived before the loop polls its sockets.
        try await loop.submit {
            let budget = TurnBudget.of(loop)
            #expect(unsafe write(far, "x", 1) == 1)
            @Sendable func next() -> Bool {
                let count = done.withLock { done in
                    done += 1
                    return done
                }
                guard count < 1_000 else { return true }
                loop.execute { TurnBudget.of(loop).begin(of: AddressKey("a"), next) }
                return true
            }
            budget.begin(of: AddressKey("a"), next)
        }.get()
        let before = try await within("the read") { await reads.first { _ in true } }
        #expect(try #require(before) <= 128, "work that ran before the socket was read")
        try await within("all of the work") {
            while done.withLock({ $0 }) < 1_000 {
                try await loop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
            }
        }
        try await channel.close()
        close(far)
        try await group.shutdownGracefully()
    }
}

extension TurnBudgetTests {
    @Test("connections that are read at once share a turn")
    func reads() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (counts, counted) = AsyncStream.makeStream(of: Int.self)
        // Within one task, as the loop reads its sockets one after another.
        try await loop.submit {
            let budget = TurnBudget.of(loop)
            var begun = 0
            for connection in 0..<40 {
                budget.hasRead()
                budget.begin(cost: 16, of: AddressKey("\(connection % 2)")) {
                    begun += 1
                    counted.yield(begun)
                    return true
                }
            }
            #expect(begun == TurnBudget.wholeOfReads / 16 && budget.waitingCount == 40 - begun)
        }.get()
        for await count in counts where count == 40 { break }
        // After the loop has polled, it may begin as much again.
        let waiting = try await loop.submit {
            let budget = TurnBudget.of(loop)
            budget.hasRead()
            budget.begin(of: AddressKey("0")) { true }
            return budget.waitingCount
        }.get()
        #expect(waiting == 0)
    }

    @Test("addresses take turns for waiting work, and void work costs nothing")
    func turns() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (order, begun) = AsyncStream.makeStream(of: String.self)
        try await loop.submit {
            let budget = TurnBudget.of(loop)
            budget.hasRead()
            func begin(_ name: String, cost: Int = TurnBudget.whole, of client: String, isVoid: Bool = false) {
                budget.begin(cost: cost, of: AddressKey(client)) {
                    begun.yield(name)
                    return !isVoid
                }
            }
            begin("first", of: "a")
            for number in 1...3 { begin("a\(number)", of: "a", isVoid: number == 1) }
            begin("b1", cost: 1, of: "b")
            begin("c1", of: "c")
            begin("b2", cost: 1, of: "b")
            #expect(budget.waitingCount == 6)
        }.get()
        var names: [String] = []
        for await name in order {
            names.append(name)
            if names.count == 7 { break }
        }
        #expect(names == ["first", "a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(try await loop.submit { TurnBudget.of(loop).waitingCount }.get() == 0)
    }
}

private final class ReadObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let hasRead: @Sendable () -> Void

    init(_ hasRead: @escaping @Sendable () -> Void) { self.hasRead = hasRead }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { hasRead() }
}
