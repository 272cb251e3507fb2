import BoundedWait
import Concurrency
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite("Event-loop turn budget", .timeLimit(.minutes(60)))
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
            @Sendable func next() {
                let count = done.withLock { done in
                    done += 1
                    return done
                }
                guard count < 1_000 else { return }
                loop.execute { TurnBudget.of(loop).begin(next) }
            }
            budget.begin(next)
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

private final class ReadObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let hasRead: @Sendable () -> Void

    init(_ hasRead: @escaping @Sendable () -> Void) { self.hasRead = hasRead }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { hasRead() }
}
