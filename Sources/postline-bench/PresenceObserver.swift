import ChangeFeed
import LineClient
import NIOPosix
import Synchronization
import WireProtocol

/// A client that follows presence as an app does: it fetches what is not pushed.
final class PresenceObserver: Sendable {
    private struct State {
        /// The users not yet reported online.
        var awaited: Set<String>
        /// The time of the last report.
        var end: ContinuousClock.Instant?
        var lagged = 0
    }

    private let client: LineClient
    private let state: Mutex<State>

    /// Opens a client, and returns once its sync is live.
    ///
    /// - Parameter users: the users to be reported online.
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

    /// Returns the time at which the last user was reported.
    ///
    /// - Throws: if one is missing for a minute.
    func allShown() async throws -> ContinuousClock.Instant {
        for _ in 0..<12_000 {
            if let end = state.withLock({ $0.end }) { return end }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchError("\(state.withLock { $0.awaited.count }) were not shown online.")
    }

    /// - Returns: the number of `sync.lagged` notices.
    func close() async -> Int {
        await client.close()
        return state.withLock { $0.lagged }
    }

    /// Runs until the connection ends.
    private func follow() async {
        for await push in client.pushes {
            guard let params = try? push.params() else { continue }
            switch push.method {
            case "changes": note(params["presence"], at: push.received)
            case "sync.lagged":
                state.withLock { $0.lagged += 1 }
                // A failure shows as a missing report.
                try? await sync(from: params["cursor"])
            default: break
            }
        }
    }

    private func sync(from cursor: JSON?) async throws {
        var cursor = cursor
        var isWhole = false
        while !isWhole {
            // Null means no cursor.
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
