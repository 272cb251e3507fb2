internal import LineClient
internal import Messaging
internal import NIOPosix
internal import Synchronization

/// A client that is told who is online, as an app is: what it is not pushed, it asks for.
final class PresenceObserver: Sendable {
    private struct State {
        /// Of whom it was not told yet.
        var awaited: Set<String>
        /// When it was told of the last.
        var end: ContinuousClock.Instant?
        var lagged = 0
    }

    private let client: LineClient
    private let state: Mutex<State>

    /// Returns once its sync is live.
    ///
    /// - Parameter users: of whom it is to be told that they are online.
    static func open(
        _ world: BenchWorld, _ user: BenchWorld.User, of users: Set<String>, port: Int,
        group: MultiThreadedEventLoopGroup
    ) async throws -> PresenceObserver {
        let observer = PresenceObserver(try await world.connect(user, port: port, group: group), users)
        try await observer.sync(from: nil)
        Task { await observer.follow() }
        return observer
    }

    private init(_ client: LineClient, _ users: Set<String>) {
        self.client = client
        state = Mutex(State(awaited: users))
    }

    /// When it was told of the last; who is not told of within a minute is a fault.
    func allShown() async throws -> ContinuousClock.Instant {
        for _ in 0..<12_000 {
            if let end = state.withLock({ $0.end }) { return end }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchError("\(state.withLock { $0.awaited.count }) were not shown online.")
    }

    /// - Returns: how often it was told to ask.
    func close() async -> Int {
        await client.close()
        return state.withLock { $0.lagged }
    }

    /// Ends with the connection.
    private func follow() async {
        for await push in client.pushes {
            guard let params = try? push.params() else { continue }
            switch push.method {
            case "changes": note(params["presence"], at: push.received)
            case "sync.lagged":
                state.withLock { $0.lagged += 1 }
                // What fails is not told of, which is noticed.
                try? await sync(from: params["cursor"])
            default: break
            }
        }
    }

    private func sync(from cursor: JSON?) async throws {
        var cursor = cursor
        var isWhole = false
        while !isWhole {
            // Null is as good as none.
            let page = try await client.call(
                "sync.open", ["messages_per_conversation": .integer(0), "cursor": cursor ?? .null])
            note(page["presence"], at: .now)
            cursor = page["cursor"]
            isWhole = page["more"]?.booleanValue != true
        }
    }

    private func note(_ presence: JSON?, at time: ContinuousClock.Instant) {
        guard let presence = presence?.arrayValue else { return }
        state.withLock { state in
            for one in presence where one["is_online"]?.booleanValue == true {
                if let user = one["user_id"]?.stringValue { state.awaited.remove(user) }
            }
            if state.awaited.isEmpty, state.end == nil { state.end = time }
        }
    }
}
