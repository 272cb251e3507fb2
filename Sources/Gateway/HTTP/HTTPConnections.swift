import LineServer
import NIOCore
import Synchronization

/// The open connections of an HTTP server.
final class HTTPConnections: Sendable {
    private struct Place {
        let channel: any Channel
        var answered: NIODeadline

        /// The bytes of the answer that waits for the client, if there are many, and since when they wait.
        var unwritten = 0
        var waitsSince = NIODeadline.uptimeNanoseconds(0)
    }

    /// Tells a connection that the answer at work is its last.
    struct StopEvent: Sendable {}

    private struct State {
        var places: [ObjectIdentifier: Place] = [:]
        var unwritten = 0
        var isStopping = false

        mutating func setUnwritten(_ bytes: Int, of id: ObjectIdentifier) {
            guard let before = places[id]?.unwritten, before != bytes else { return }
            places[id]?.unwritten = bytes
            places[id]?.waitsSince = .now()
            unwritten += bytes - before
        }

        mutating func remove(_ id: ObjectIdentifier) {
            unwritten -= places.removeValue(forKey: id)?.unwritten ?? 0
        }
    }

    /// How many there may be; past it the one goes that has been without an answer for longest, so that half-sent
    /// requests keep nobody out who asks a whole one.
    private let limit: Int?
    private let maxUnwrittenBytes: Int
    private let state = Mutex(State())
    private let open = OpenConnections()

    init(_ bounds: HTTPBounds) {
        limit = bounds.maxConnections
        maxUnwrittenBytes = bounds.maxUnwrittenBytes
    }

    /// Whether the server was told to stop.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func opened(_ channel: any Channel) {
        open.enter()
        let surplus = state.withLock { state -> (any Channel)? in
            let isFull = limit.map { state.places.count >= $0 } ?? false
            let longest = isFull ? state.places.min { $0.value.answered < $1.value.answered } : nil
            if let longest { state.remove(longest.key) }
            state.places[ObjectIdentifier(channel)] = Place(channel: channel, answered: .now())
            return longest?.value.channel
        }
        surplus?.close(promise: nil)
    }

    func answered(_ channel: any Channel) {
        state.withLock {
            $0.places[ObjectIdentifier(channel)]?.answered = .now()
            $0.setUnwritten(0, of: ObjectIdentifier(channel))
        }
    }

    /// Counts the bytes of an answer that the node holds for a client until the answer is written.
    ///
    /// - Returns: the number of connections that were closed, since too much waited for all clients.
    func holds(_ bytes: Int, for channel: any Channel) -> Int {
        let surplus = state.withLock { state -> [any Channel] in
            state.setUnwritten(bytes, of: ObjectIdentifier(channel))
            guard state.unwritten > maxUnwrittenBytes else { return [] }
            let waiting = state.places.filter { $0.value.unwritten > 0 }
                .sorted { $0.value.waitsSince < $1.value.waitsSince }
            var surplus: [any Channel] = []
            for (id, place) in waiting where state.unwritten > maxUnwrittenBytes {
                state.remove(id)
                surplus.append(place.channel)
            }
            return surplus
        }
        for channel in surplus { channel.close(promise: nil) }
        return surplus.count
    }

    /// It is closed, or one of another protocol.
    func closed(_ channel: any Channel) {
        state.withLock { $0.remove(ObjectIdentifier(channel)) }
    }

    /// All that was at work for it is done.
    func left() { open.leave() }

    /// Lets the answers at work be the last.
    func stop() {
        for channel in change({ $0.isStopping = true }) {
            channel.pipeline.fireUserInboundEventTriggered(StopEvent())
        }
    }

    /// Closes all at once.
    func cut() {
        for channel in change({ $0.isStopping = true }) { channel.close(promise: nil) }
    }

    private func change(_ body: (inout State) -> Void) -> [any Channel] {
        state.withLock { state in
            body(&state)
            return state.places.values.map(\.channel)
        }
    }

    /// Waits until all that came have ended.
    func haveEnded() async { await open.haveEnded() }
}
