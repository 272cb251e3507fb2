import LineClient
import NIOCore
import PrivatePostgres
import Synchronization
import WireProtocol

/// The time from a profile change until all of a thousand contacts have it, on two nodes.
struct ProfileBench {
    private static let contacts = 1_000

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard let owner = world.pairs.first?.sender else { throw BenchError("There is nobody to rename.") }
        var result: (table: [String], figures: [BenchResult])?
        try await BenchNode.run(on: world.postgres, secret: world.secret) { second in
            say("making \(Self.contacts) contacts, on two nodes …")
            let arrivals = PushArrivals(expected: Self.contacts)
            let contacts = try await connect(ports: [world.port, second.line], arrivals)
            _ = try await GuestCrowd(guests: contacts.map(\.guest)).group(with: [owner.id], in: world.postgres)
            for contact in contacts {
                _ = try await contact.client.call("sync.open", ["messages_per_conversation": .integer(0)])
            }
            result = try await measure(owner, arrivals)
            for contact in contacts { await contact.client.close() }
        }
        guard let result else { throw BenchError("Nothing was measured.") }
        return result
    }

    private func measure(
        _ owner: BenchWorld.User, _ arrivals: PushArrivals
    ) async throws -> (table: [String], figures: [BenchResult]) {
        let client = try await world.connect(owner)
        var each: [Duration] = []
        var last: [Duration] = []
        let end = ContinuousClock.now + .seconds(seconds)
        var number = 0
        while ContinuousClock.now < end {
            number += 1
            let bio = "Change number \(number)."
            let sent = ContinuousClock.now
            arrivals.begin(#""bio":"\#(bio)""#)
            _ = try await client.call("me.update", ["bio": .string(bio)])
            let times = try await arrivals.all()
            each += times.map { $0 - sent }
            if let latest = times.max() { last.append(latest - sent) }
            // A random pause, to be independent of periodic tasks of the service.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...20_000)))
        }
        await client.close()
        let contact = Percentiles(each)
        let all = Percentiles(last)
        return (
            [
                "\(all.count) changes of a profile, from the request until \(Self.contacts) contacts on two nodes have it",
                "  each contact: p50 \(contact.text(50)) ms, p95 \(contact.text(95)) ms, p99 \(contact.text(99)) ms",
                "  the last one: p50 \(all.text(50)) ms, p95 \(all.text(95)) ms, p99 \(all.text(99)) ms",
            ],
            [
                BenchResult(name: "profile_all_p50_ms", value: all.milliseconds(50) ?? 0, unit: "ms", goal: nil),
                BenchResult(name: "profile_all_p99_ms", value: all.milliseconds(99) ?? 0, unit: "ms", goal: .below(50)),
            ]
        )
    }

    private func connect(ports: [Int], _ arrivals: PushArrivals) async throws -> [(
        client: LineClient, guest: GuestCrowd.Guest
    )] {
        var contacts: [(client: LineClient, guest: GuestCrowd.Guest)] = []
        for number in 0..<Self.contacts {
            let client = try await LineClient.connect(
                host: "127.0.0.1", port: ports[number % ports.count], group: world.threads
            ) { arrivals.take($0) }
            let tokens = try await client.call("auth.guest", ["full_name": .string("Contact \(number)")])
            contacts.append((client, try GuestCrowd.Guest(tokens)))
        }
        return contacts
    }
}

extension ByteBuffer {
    /// Returns true if it contains these bytes. The library's `firstRange(of:)` takes as long for a push as the node's
    /// whole work for it.
    fileprivate func contains(_ bytes: [UInt8]) -> Bool {
        let all = readableBytesUInt8Span
        guard let first = bytes.first, all.count >= bytes.count else { return false }
        for start in 0...(all.count - bytes.count) where all[start] == first {
            if bytes.indices.allSatisfy({ all[start + $0] == bytes[$0] }) { return true }
        }
        return false
    }
}

/// The arrival times of one push at many clients.
private final class PushArrivals: Sendable {
    private struct State {
        var wanted: [UInt8] = []
        var times: [ContinuousClock.Instant] = []
    }

    private let expected: Int
    private let state = Mutex(State())

    init(expected: Int) { self.expected = expected }

    /// Starts to wait for pushes that contain this text.
    func begin(_ text: String) { state.withLock { $0 = State(wanted: Array(text.utf8)) } }

    func take(_ push: ServerNotification) {
        guard push.method == "changes" else { return }
        state.withLock { state in
            if push.text.contains(state.wanted) { state.times.append(push.received) }
        }
    }

    /// Waits until all clients have it.
    ///
    /// - Throws: if one is missing for ten seconds.
    func all() async throws -> [ContinuousClock.Instant] {
        let limit = ContinuousClock.now + .seconds(10)
        while true {
            let times = state.withLock { $0.times }
            if times.count >= expected { return times }
            guard ContinuousClock.now < limit else {
                throw BenchError("\(expected - times.count) contacts did not get a change.")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
