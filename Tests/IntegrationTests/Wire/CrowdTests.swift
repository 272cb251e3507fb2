import BoundedWait
import Foundation
import LineClient
import Messaging
import Testing

@Suite("Many connections", .timeLimit(.minutes(60)))
struct CrowdTests {
    /// The maximum memory of an idle connection.
    private static let bytesPerConnection = 16 << 10

    @Test("row 10: ten thousand idle connections cost a bounded number of bytes each, and others are served meanwhile")
    func idle() async throws {
        let count = 10_000
        try #require(IdlePeer.raiseDescriptorLimit() > count + 1_000, "ulimit -Hn is too small for this test")
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let alice = try await node.signedIn(.alice)
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                try await alice.send("before", to: Room.aliceBob)
                try await bob.follow { $0.has("before", in: Room.aliceBob) }
                let before = try await node.metrics()
                let crowd = GuestCrowd(port: node.port)
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
                // The node sees them go, and serves on.
                try await eventually("all to be gone") { try await node.metrics()["postline_connections"] == 2 }
                try await alice.send("after", to: Room.aliceBob)
                try await bob.follow { $0.has("after", in: Room.aliceBob) }
            }
        }
    }

    @Test(
        "row 11: out of descriptors, clients are refused with the reason, nothing spins, and there is room again later")
    func descriptors() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--pool-size", "2"], openFiles: 96) { node in
                let alice = try await node.signedIn(.alice)
                let crowd = GuestCrowd(port: node.port)
                while await crowd.grow(by: 1) == 0 {}
                let served = await crowd.count
                #expect(served > 10)
                let spent = (try? node.processorSeconds()) ?? 0
                let begun = ContinuousClock.now
                for _ in 0..<20 {
                    let refused = await crowd.tryOnce()
                    #expect(refused.contains(#""code":"too_many_connections""#), "\(refused)")
                    #expect(refused.contains("as the system lets it have"), "\(refused)")
                    // Who is served is served on.
                    try await alice.call("me.get")
                }
                #if os(Linux)
                // A loop that spins would use as much as the clock.
                #expect(try node.processorSeconds() - spent < 10)
                #endif
                // One of the crowd was refused too, with which it ended.
                try await eventually("the log to have all that were refused") { Self.refused(node).reduce(0, +) >= 21 }
                let counts = Self.refused(node)
                // One at once, and one a second.
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

extension CrowdTests {
    /// Returns the refused connections in each log line about missing descriptors.
    private static func refused(_ node: ServeProcess) -> [Int] {
        node.command.errors.matches(of: #/out of file descriptors.*count=(\d+)/#).compactMap { Int($0.1) }
    }
}

/// Idle connections to one node.
private actor GuestCrowd {
    private let port: Int
    private var peers: [Peer] = []

    private final class Peer {
        let peer: IdlePeer
        init(_ peer: consuming IdlePeer) { self.peer = peer }
    }

    init(port: Int) { self.port = port }

    var count: Int { peers.count }

    /// Connects so many more.
    ///
    /// - Returns: how many of them were not greeted.
    func grow(by count: Int) -> Int {
        (0..<count).count { _ in !connect().contains("server.hello") }
    }

    /// Connects once, and gives the first line, keeping the connection where it is served.
    func tryOnce() -> String { connect() }

    private func connect() -> String {
        var hello = ""
        if let peer = IdlePeer(port: port, hello: &hello), hello.contains("server.hello") {
            peers.append(Peer(peer))
        }
        return hello
    }

    func leave() { peers = [] }
}
