import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres
import Synchronization
import WireProtocol

/// The cost of sessions that do not read, for the others and for the node: deliveries with and without them,
/// alternating.
struct BackPressureBench {
    private static let readers = 20
    private static let slow = 50
    private static let senders = 8

    /// Large, so that socket buffers fill soon. It begins with the byte that is counted.
    private static let content = "🌊" + String(repeating: "x", count: 7_900)

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        say("making a group of \(Self.readers) who read and \(Self.slow) who do not …")
        let delivered = Deliveries()
        let readers = try await guests(Self.readers) { delivered.take($0) }
        let slow = try await guests(Self.slow) { _ in }
        let senders = try await guests(Self.senders) { _ in }
        let group = try await join(readers + slow + senders)
        for reader in readers { _ = try await reader.client.call("sync.open", Self.live) }
        // Warm up caches and plans.
        _ = try await round(senders, group, delivered, for: 1)

        var without: [Double] = []
        var with: [Double] = []
        var growth = 0.0
        for number in 1...rounds {
            without.append(try await round(senders, group, delivered, for: seconds))
            for person in slow {
                try await person.client.setReading(true)
                _ = try await person.client.call("sync.open", Self.live)
                try await person.client.setReading(false)
            }
            let before = try await OperationsClient.figure(OperationsClient.memory, port: world.operationsPort)
            with.append(try await round(senders, group, delivered, for: seconds))
            let after = try await OperationsClient.figure(OperationsClient.memory, port: world.operationsPort)
            growth = max(growth, after - before)
            for person in slow {
                try await person.client.setReading(true)
                _ = try await person.client.call("sync.close")
            }
            say("round \(number): \(Int(without[number - 1]))/s without, \(Int(with[number - 1]))/s with")
        }
        let lagged = try await OperationsClient.figure("postline_slow_consumer_drops_total", port: world.operationsPort)
        for person in readers + slow + senders { await person.client.close() }
        let ratio = with.reduce(0, +) / without.reduce(0, +)
        let mebibytes = growth / 1_048_576
        return (
            [
                "Deliveries of 8 kB messages to \(Self.readers) who read, \(rounds) rounds of \(seconds) s each in turn",
                "  alone: \(Int(without.reduce(0, +) / Double(rounds)))/s; "
                    + "beside \(Self.slow) live sessions that do not read: \(Int(with.reduce(0, +) / Double(rounds)))/s",
                "  times that a session fell behind: \(Int(lagged)); the node's memory grew by at most "
                    + "\(BenchResult.text(mebibytes, 1)) MiB in a round",
            ],
            [
                BenchResult(name: "backpressure_ratio", value: ratio, unit: "ratio", goal: .atLeast(0.9)),
                BenchResult(name: "backpressure_lagged", value: lagged, unit: "times", goal: nil),
                // At most a queue per session.
                BenchResult(
                    name: "backpressure_memory", value: mebibytes, unit: "MiB", goal: .below(Double(Self.slow))),
            ]
        )
    }

    private static let live: JSONObject = ["messages_per_conversation": .integer(0)]

    private struct Guest: Sendable {
        let client: LineClient
        let id: String
    }

    private func guests(
        _ count: Int, _ onPush: @escaping @Sendable (ServerNotification) -> Void
    ) async throws -> [Guest] {
        var guests: [Guest] = []
        for number in 0..<count {
            let client = try await LineClient.connect(
                host: "127.0.0.1", port: world.port, group: world.threads, onPush: onPush)
            let tokens = try await client.call("auth.guest", ["full_name": .string("Guest \(number)")])
            guard let id = tokens["user_id"]?.stringValue else { throw BenchError("A guest has no id.") }
            guests.append(Guest(client: client, id: id))
        }
        return guests
    }

    private func join(_ guests: [Guest]) async throws -> String {
        guard let owner = guests.first else { throw BenchError("There is nobody.") }
        let group = try await owner.client.call(
            "conversations.create_group",
            ["title": .string("Bench"), "member_ids": .array(guests.dropFirst().map { .string($0.id) })])
        guard let id = group["id"]?.stringValue else { throw BenchError("A group has no id.") }
        return id
    }

    /// Sends for the given time, waits until all readers have everything, and returns the deliveries per second.
    private func round(
        _ senders: [Guest], _ group: String, _ delivered: Deliveries, for seconds: Int
    ) async throws -> Double {
        let before = delivered.value
        let start = ContinuousClock.now
        let sent = try await BenchLoop.run(
            senders.map { ($0.client, group) }, for: .seconds(seconds), method: "messages.send"
        ) { group, params in
            params.writeStaticString(#"{"conversation_id":""#)
            params.writeString(group)
            params.writeStaticString(#"","content":""#)
            params.writeString(Self.content)
            params.writeStaticString(#""}"#)
        }
        let expected = sent.latencies.count * Self.readers
        try await delivered.reach(before + expected)
        return Double(expected) / ((ContinuousClock.now - start) / .seconds(1))
    }
}

/// Counts pushed messages by a byte that each contains once.
private final class Deliveries: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func take(_ push: ServerNotification) {
        guard push.method == "changes" else { return }
        var found = 0
        let bytes = push.text.readableBytesUInt8Span
        for place in bytes.indices where bytes[place] == 0xF0 { found += 1 }
        count.add(found, ordering: .relaxed)
    }

    /// Waits for the given number of messages.
    ///
    /// - Throws: if one is missing for a minute.
    func reach(_ expected: Int) async throws {
        for _ in 0..<60_000 where value < expected { try await Task.sleep(for: .milliseconds(1)) }
        guard value >= expected else { throw BenchError("\(expected - value) messages were not delivered.") }
    }
}

/// Reads a node's metrics.
enum OperationsClient {
    /// The metric of the node's resident memory.
    static let memory = "process_resident_memory_bytes"

    /// - Parameter name: the metric with its labels, as `/metrics` writes it.
    static func figure(_ name: String, port: Int) async throws -> Double {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let text = try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(
                ByteBuffer(string: "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
            var answer = ByteBuffer()
            for try await part in inbound { answer.writeImmutableBuffer(part) }
            return String(buffer: answer)
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        guard let value = line.flatMap({ Double($0.dropFirst(name.count + 1)) }) else {
            throw BenchError("The node shows no \(name).")
        }
        return value
    }
}
