import BoundedWait
import Foundation
import Testing

@Suite("Many connections", .timeLimit(.minutes(20)))
struct ManyConnectionsTests {
    /// The allowed cost of an idle connection, in bytes.
    private static let bytesPerConnection = 16 << 10

    @Test("row 10: ten thousand idle connections cost a bounded number of bytes")
    func idle() async throws {
        let count = 10_000
        try #require(IdleConnection.raiseDescriptorLimit() > count + 1_000, "ulimit -Hn is too small for this test")
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--rate-limits", "off"]) { node in
                let alice = try await node.signedIn(.alice)
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                try await alice.send("before", to: Room.aliceBob)
                try await bob.follow { $0.has("before", in: Room.aliceBob) }
                let before = try await node.metrics()
                let crowd = ConnectionCrowd(port: node.port)
                for round in 0..<10 {
                    #expect(await crowd.grow(by: count / 10) == 0)
                    try await alice.send("among \(round)", to: Room.aliceBob)
                    try await bob.follow { $0.has("among \(round)", in: Room.aliceBob) }
                }
                let after = try await node.metrics()
                #expect(after["postline_connections"] == Double(count + 2))
                #expect(after[#"postline_connections_rejected_total{reason="in_all"}"#] == 0)
                if let less = before["process_resident_memory_bytes"], let more = after["process_resident_memory_bytes"]
                {
                    let each = (more - less) / Double(count)
                    #expect(each < Double(Self.bytesPerConnection), "\(each) bytes")
                }
                await crowd.leave()
                // The node notices that they close, and keeps serving.
                try await eventually("all to be gone") { try await node.metrics()["postline_connections"] == 2 }
                try await alice.send("after", to: Room.aliceBob)
                try await bob.follow { $0.has("after", in: Room.aliceBob) }
            }
        }
    }

    @Test("row 11: refuses clients without descriptors, and recovers")
    func descriptors() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--pool-size", "2"], openFiles: 96) { node in
                let alice = try await node.signedIn(.alice)
                let crowd = ConnectionCrowd(port: node.port)
                while await crowd.grow(by: 1) == 0 {}
                let served = await crowd.count
                #expect(served > 10)
                let spent = (try? node.processorSeconds()) ?? 0
                let begun = ContinuousClock.now
                for _ in 0..<20 {
                    let refused = await crowd.tryOnce()
                    #expect(refused.contains(#""code":"too_many_connections""#), "\(refused)")
                    #expect(refused.contains("as the system lets it have"), "\(refused)")
                    // Existing connections are served.
                    try await alice.call("me.get")
                }
                #if os(Linux)
                // A spinning loop would use as much processor time as the clock.
                #expect(try node.processorSeconds() - spent < 10)
                #endif
                // A connection of the crowd was refused, too.
                try await eventually("the log to have all that were refused") { Self.refused(node).reduce(0, +) >= 21 }
                let counts = Self.refused(node)
                // One at once, and one per second.
                #expect(counts.count <= 2 + Int((ContinuousClock.now - begun) / .seconds(1)), "\(counts)")
                await crowd.leave()
                try await eventually("room again") { await crowd.grow(by: 1) == 0 }
                let metrics = try await node.metrics()
                #expect((metrics[#"postline_connections_rejected_total{reason="descriptors"}"#] ?? 0) >= 20)
                await crowd.leave()
                try await alice.send("after", to: Room.aliceBob)
            }
        }
    }
}

extension ManyConnectionsTests {
    /// Returns the number of refusals for lack of descriptors of each log line.
    private static func refused(_ node: ServeProcess) -> [Int] {
        node.command.errors.matches(of: #/out of file descriptors.*count=(\d+)/#).compactMap { Int($0.1) }
    }
}

/// Idle connections to a node.
private actor ConnectionCrowd {
    private let port: Int
    private var peers: [Peer] = []

    private final class Peer {
        let peer: IdleConnection
        init(_ peer: consuming IdleConnection) { self.peer = peer }
    }

    init(port: Int) { self.port = port }

    var count: Int { peers.count }

    /// Opens further connections.
    ///
    /// - Returns: The number of refused ones.
    func grow(by count: Int) -> Int {
        (0..<count).count { _ in !connect().contains("server.hello") }
    }

    /// Connects once, and returns the first line. An accepted connection stays open.
    func tryOnce() -> String { connect() }

    private func connect() -> String {
        var hello = ""
        if let peer = IdleConnection(port: port, hello: &hello), hello.contains("server.hello") {
            peers.append(Peer(peer))
        }
        return hello
    }

    func leave() { peers = [] }
}
