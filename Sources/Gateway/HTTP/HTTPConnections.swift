import LineServer
import NIOCore
import Synchronization

/// The open connections of an HTTP server.
final class HTTPConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        var lastResponse: NIODeadline

        /// The bytes of a large response that the client has not read, and when that response was written.
        var unwritten = 0
        var unwrittenSince = NIODeadline.uptimeNanoseconds(0)
    }

    /// Tells a connection to close after the current response.
    struct StopEvent: Sendable {}

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var unwritten = 0
        var isStopping = false

        mutating func setUnwritten(_ bytes: Int, of id: ObjectIdentifier) {
            guard let before = entries[id]?.unwritten, before != bytes else { return }
            entries[id]?.unwritten = bytes
            entries[id]?.unwrittenSince = .now()
            unwritten += bytes - before
        }

        mutating func remove(_ id: ObjectIdentifier) {
            unwritten -= entries.removeValue(forKey: id)?.unwritten ?? 0
        }
    }

    /// The most connections. Beyond it the connection with the oldest response closes, so that half-sent requests cannot
    /// occupy all of them.
    private let limit: Int?
    private let maxUnwrittenBytes: Int
    private let state = Mutex(State())
    private let open = OpenConnections()

    init(_ bounds: HTTPBounds) {
        limit = bounds.maxConnections
        maxUnwrittenBytes = bounds.maxUnwrittenBytes
    }

    /// True once the server is shutting down.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func connectionOpened(_ channel: any Channel) {
        open.enter()
        let surplus = state.withLock { state -> (any Channel)? in
            let isFull = limit.map { state.entries.count >= $0 } ?? false
            let oldest = isFull ? state.entries.min { $0.value.lastResponse < $1.value.lastResponse } : nil
            if let oldest { state.remove(oldest.key) }
            state.entries[ObjectIdentifier(channel)] = Entry(channel: channel, lastResponse: .now())
            return oldest?.value.channel
        }
        surplus?.close(promise: nil)
    }

    func responseWritten(_ channel: any Channel) {
        state.withLock {
            $0.entries[ObjectIdentifier(channel)]?.lastResponse = .now()
            $0.setUnwritten(0, of: ObjectIdentifier(channel))
        }
    }

    /// Counts the bytes that the node buffers of a response, until the response is written.
    ///
    /// - Returns: the number of connections that were closed because all unwritten responses together exceed the bound.
    func trackUnwritten(_ bytes: Int, for channel: any Channel) -> Int {
        let surplus = state.withLock { state -> [any Channel] in
            state.setUnwritten(bytes, of: ObjectIdentifier(channel))
            guard state.unwritten > maxUnwrittenBytes else { return [] }
            let waiting = state.entries.filter { $0.value.unwritten > 0 }
                .sorted { $0.value.unwrittenSince < $1.value.unwrittenSince }
            var surplus: [any Channel] = []
            for (id, entry) in waiting where state.unwritten > maxUnwrittenBytes {
                state.remove(id)
                surplus.append(entry.channel)
            }
            return surplus
        }
        for channel in surplus { channel.close(promise: nil) }
        return surplus.count
    }

    /// Removes a connection that has closed or switched to another protocol.
    func connectionClosed(_ channel: any Channel) {
        state.withLock { $0.remove(ObjectIdentifier(channel)) }
    }

    /// Records that the tasks of a closed connection have ended.
    func connectionFinished() { open.leave() }

    /// Lets each connection close after its current response.
    func stop() {
        for channel in change({ $0.isStopping = true }) {
            channel.pipeline.fireUserInboundEventTriggered(StopEvent())
        }
    }

    /// Closes all connections immediately.
    func closeAll() {
        for channel in change({ $0.isStopping = true }) { channel.close(promise: nil) }
    }

    private func change(_ body: (inout State) -> Void) -> [any Channel] {
        state.withLock { state in
            body(&state)
            return state.entries.values.map(\.channel)
        }
    }

    /// Waits until all connections and their tasks have ended.
    func haveEnded() async { await open.haveEnded() }
}
