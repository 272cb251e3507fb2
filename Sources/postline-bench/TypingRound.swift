import LineClient
import NIOPosix
import Synchronization
import WireProtocol

/// The time from a typing request until the other user, at another node, is notified.
enum TypingRound {
    private static let pairs = 20
    private static let samples = 100

    /// Each pair's turns are more than two seconds apart: earlier notices are not forwarded.
    private static let pace = Duration.milliseconds(125)

    /// The value of a lost notice, which may happen.
    private static let most = Duration.seconds(2)

    /// - Parameters:
    ///   - typists: the port of the node of the typing users.
    ///   - watchers: the port of the node of the notified users.
    static func run(
        _ world: BenchWorld, from typists: Int, to watchers: Int, group: MultiThreadedEventLoopGroup
    ) async throws -> Percentiles {
        let notices = Notices()
        var people: [(typist: LineClient, watcher: LineClient, conversation: String)] = []
        for (number, pair) in world.pairs.prefix(pairs).enumerated() {
            let watcher = try await world.connect(pair.receiver, port: watchers, group: group) {
                notices.take($0, of: number)
            }
            let typist = try await world.connect(pair.sender, port: typists, group: group)
            people.append((typist, watcher, pair.conversationID))
        }
        var times: [Duration] = []
        for sample in 0..<samples {
            // Not at fixed times: after a late notice the next would be too early.
            try await Task.sleep(for: pace)
            let number = sample % people.count
            notices.expect(number)
            let sent = ContinuousClock.now
            _ = try await people[number].typist.call(
                "conversations.typing", ["conversation_id": .string(people[number].conversation)])
            while notices.time == nil, .now < sent + most { try await Task.sleep(for: .milliseconds(1)) }
            times.append(notices.time.map { $0 - sent } ?? most)
        }
        for (typist, watcher, _) in people {
            await typist.close()
            await watcher.close()
        }
        return Percentiles(times)
    }

    /// The arrival of the expected notice.
    private final class Notices: Sendable {
        private let state = Mutex<(number: Int, time: ContinuousClock.Instant?)>((0, nil))

        var time: ContinuousClock.Instant? { state.withLock { $0.time } }

        func expect(_ number: Int) { state.withLock { $0 = (number, nil) } }

        func take(_ push: ServerNotification, of number: Int) {
            guard push.method == "typing" else { return }
            state.withLock { state in
                if state.number == number, state.time == nil { state.time = push.received }
            }
        }
    }
}
