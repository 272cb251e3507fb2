import LineServer
import NIOCore
import Synchronization

/// The open connections of an HTTP server.
final class HTTPConnections: Sendable {
    private struct Place {
        let channel: any Channel
        var answered: NIODeadline
    }

    /// Tells a connection that the answer at work is its last.
    struct StopEvent: Sendable {}

    private struct State {
        var places: [ObjectIdentifier: Place] = [:]
        var isStopping = false
    }

    /// How many there may be; past it the one goes that has been without an answer for longest, so that half-sent
    /// requests keep nobody out who asks a whole one.
    private let limit: Int?
    private let state = Mutex(State())
    private let open = OpenConnections()

    init(limit: Int?) { self.limit = limit }

    /// Whether the server was told to stop.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func opened(_ channel: any Channel) {
        open.enter()
        let surplus = state.withLock { state -> (any Channel)? in
            let isFull = limit.map { state.places.count >= $0 } ?? false
            let longest = isFull ? state.places.min { $0.value.answered < $1.value.answered } : nil
            if let longest { state.places[longest.key] = nil }
            state.places[ObjectIdentifier(channel)] = Place(channel: channel, answered: .now())
            return longest?.value.channel
        }
        surplus?.close(promise: nil)
    }

    func answered(_ channel: any Channel) {
        state.withLock { $0.places[ObjectIdentifier(channel)]?.answered = .now() }
    }

    /// It is closed, or one of another protocol.
    func closed(_ channel: any Channel) {
        state.withLock { _ = $0.places.removeValue(forKey: ObjectIdentifier(channel)) }
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
