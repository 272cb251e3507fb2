import CNotifyPeer
import Concurrency
import Postgres

/// A bare C program that LISTENs on its own thread: the latency of a notification without Postline.
enum NotifyPeer {
    /// Runs `body` while the program listens.
    ///
    /// - Parameters:
    ///   - capacity: the maximum number of recorded notifications.
    ///   - body: must end by notifying `stop`.
    /// - Returns: the arrival time of each notification, by the clock of `now`.
    static func run(url: String, channel: String, capacity: Int, _ body: () async throws -> Void) async throws
        -> [Int64]
    {
        let (events, sink) = AsyncStream.makeStream(of: Event.self)
        try DetachedThread.start(name: "notify peer") {
            guard let peer = unsafe notify_peer_open(url, "listen \"\(channel)\"") else { return sink.finish() }
            sink.yield(.listening)
            let times = unsafe [Int64](unsafeUninitializedCapacity: capacity) { buffer, count in
                count = unsafe max(0, notify_peer_run(peer, buffer.baseAddress, capacity))
            }
            sink.yield(.ended(times))
            sink.finish()
        }
        for await event in events {
            switch event {
            case .listening: try await body()
            case .ended(let times): return times
            }
        }
        throw BenchError("The program that listens was not let in.")
    }

    /// Nanoseconds of a monotonic clock.
    static var now: Int64 { notify_peer_now() }

    private enum Event: Sendable {
        case listening
        case ended([Int64])
    }
}
