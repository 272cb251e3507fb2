import Foundations
import LineServer
import NIOCore
import Synchronization

/// The open connections of an HTTP server.
final class HTTPConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        var lastResponse: NIODeadline

        /// The client's address, and the bytes of a large response that it has not read.
        var client: AddressKey?
        var unwritten = 0

        /// The time at which the client last made room for a part of that response.
        var lastProgress = NIODeadline.uptimeNanoseconds(0)
    }

    /// Tells a connection to close after the current response.
    struct StopEvent: Sendable {}

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var unwritten = 0

        /// The requests whose clients have disconnected.
        var abandoned: Set<Task<Void, Never>> = []
        var isStopping = false

        mutating func setUnwritten(_ bytes: Int, of id: ObjectIdentifier) {
            guard let before = entries[id]?.unwritten, before != bytes else { return }
            entries[id]?.unwritten = bytes
            entries[id]?.lastProgress = .now()
            unwritten += bytes - before
        }

        /// Removes connections until the unwritten bytes are within a limit, and returns their channels: of the address
        /// that holds the most those without progress for the longest time, then of the next.
        mutating func removeSlowest(beyond limit: Int) -> [any Channel] {
            let waiting = entries.filter { $0.value.unwritten > 0 }
            let byAddress = Dictionary(grouping: waiting) { $0.value.client }.values
                .map { (bytes: $0.reduce(0) { $0 + $1.value.unwritten }, entries: $0) }
                .sorted { $0.bytes > $1.bytes }
            var removed: [any Channel] = []
            for address in byAddress {
                for (id, entry) in address.entries.sorted(by: { $0.value.lastProgress < $1.value.lastProgress }) {
                    guard unwritten > limit else { return removed }
                    remove(id)
                    removed.append(entry.channel)
                }
            }
            return removed
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

    /// Connections and their tasks that have not ended.
    let open = OpenConnections()

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

    /// Records that a client has made room for a part of its response.
    func responseProgressed(_ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.lastProgress = .now() }
    }

    /// Counts the bytes that the node buffers of a response, until the response is written.
    ///
    /// - Returns: the number of connections that were closed because all unwritten responses together exceed the bound.
    func trackUnwritten(_ bytes: Int, for channel: any Channel, of client: AddressKey) -> Int {
        let surplus = state.withLock { state -> [any Channel] in
            state.entries[ObjectIdentifier(channel)]?.client = client
            state.setUnwritten(bytes, of: ObjectIdentifier(channel))
            return state.unwritten > maxUnwrittenBytes ? state.removeSlowest(beyond: maxUnwrittenBytes) : []
        }
        for channel in surplus { channel.close(promise: nil) }
        return surplus.count
    }

    /// Removes a connection that has closed or switched to another protocol. Its request continues, except during
    /// shutdown, when it is cancelled.
    func connectionClosed(_ channel: any Channel, during request: Task<Void, Never>?) {
        let isStopping = state.withLock { state in
            state.remove(ObjectIdentifier(channel))
            if let request { state.abandoned.insert(request) }
            return state.isStopping
        }
        if isStopping { request?.cancel() }
    }

    /// Records that the tasks of a closed connection have ended.
    func connectionFinished(after request: Task<Void, Never>?) {
        if let request { state.withLock { _ = $0.abandoned.remove(request) } }
        open.leave()
    }

    /// Lets each connection close after its current response.
    func stop() {
        for channel in change({ $0.isStopping = true }) {
            channel.pipeline.fireUserInboundEventTriggered(StopEvent())
        }
    }

    /// Closes all connections immediately, and cancels the requests whose clients have disconnected.
    func closeAll() {
        for channel in change({ $0.isStopping = true }) { channel.close(promise: nil) }
        for request in state.withLock({ $0.abandoned }) { request.cancel() }
    }

    private func change(_ body: (inout State) -> Void) -> [any Channel] {
        state.withLock { state in
            body(&state)
            return state.entries.values.map(\.channel)
        }
    }
}
