import BoundedWait
import Foundation
import LineClient
import Testing
import WireProtocol

@Suite("Node shutdown", .timeLimit(.minutes(20)))
struct NodeShutdownTests {
    /// The number of connections that send as fast as possible, and of those that only listen.
    private static let (senders, listeners) = (8, 24)

    /// The number of sends in flight for each sender.
    private static let window = 32

    @Test("row 50: on SIGTERM under load a node answers and exits in 10 s")
    func stopsUnderLoad() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(
                database, ["--rate-limits", "off"], port: try await unusedPort())
            defer { node.command.signal(SIGKILL) }
            let listeners = try await (0..<Self.listeners).asyncMap { _ in
                let client = try await TestClient.connect(port: node.port)
                try await client.signIn(.bob)
                try await client.sync()
                return client
            }
            let clients = try await (0..<Self.senders).asyncMap { _ in
                let client = try await TestClient.connect(port: node.port)
                try await client.signIn(.alice)
                return client
            }
            let progress = ProgressCounter()
            let answered = try await withThrowingTaskGroup(of: [String].self) { group in
                for (place, client) in clients.enumerated() {
                    group.addTask { await Self.send(as: place, client, progress) }
                }
                await progress.wait(for: 500)
                node.command.signal(SIGTERM)
                #expect(try await node.command.exit() == 0)
                return try await group.reduce(into: []) { $0 += $1 }
            }
            for client in clients + listeners {
                try await within("the end") { await client.line.waitUntilClosed() }
                #expect(await client.line.goodbye?.code == "shutting_down")
            }
            await #expect(throws: ConnectionError.self) {
                _ = try await LineClient.connect(host: "127.0.0.1", port: node.port)
            }
            // Each acknowledged message is stored, and each stored message was acknowledged.
            let stored = try await database.column(
                "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90")
            #expect(answered.count >= 500)
            #expect(stored.compactMap { $0 }.sorted() == answered.sorted())
        }
    }

    /// Keeps sends in flight until the connection ends, and returns the acknowledged contents.
    private static func send(as place: Int, _ client: TestClient, _ progress: ProgressCounter) async -> [String] {
        var sent = 0
        var answered: [String] = []
        do {
            while true {
                while sent < answered.count + window {
                    try await client.line.send(
                        line:
                            #"{"jsonrpc":"2.0","id":"\#(sent)","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"\#(place) \#(sent)"}}"#
                    )
                    sent += 1
                }
                let content = "\(place) \(answered.count)"
                let answer = try await client.nextLine()
                #expect(answer.contains(#""content":"\#(content)""#), "\(answer)")
                answered.append(content)
                await progress.step()
            }
        } catch {
            // Lines that arrived before the end are still read.
            while let answer = try? await client.nextLine() {
                #expect(answer.contains(#""result""#), "\(answer)")
                answered.append("\(place) \(answered.count)")
            }
        }
        return answered
    }

    /// The number of kills, and of acknowledged sends between them.
    private static let (kills, between) = (4, 100)

    @Test("row 51: kill -9 of one of two nodes loses nothing acknowledged")
    func killed() async throws {
        try await TestDatabase.with { database in
            let nodes = Nodes(
                try await [
                    ServeProcess.start(database, ["--rate-limits", "off"]),
                    ServeProcess.start(database, ["--rate-limits", "off"]),
                ])
            do {
                let watchers = try await (0..<4).asyncMap {
                    try await RoamingClient($0.isMultiple(of: 2) ? .alice : .bob, nodes, $0)
                }
                let senders = try await (0..<4).asyncMap {
                    try await RoamingClient($0.isMultiple(of: 2) ? .alice : .bob, nodes, $0)
                }
                let progress = ProgressCounter()
                let stop = CompletionFlag()
                let answered = try await withThrowingTaskGroup(of: [String].self) { group in
                    for (place, sender) in senders.enumerated() {
                        group.addTask {
                            var answered: [String] = []
                            while await !stop.isDone {
                                let content = "\(place) \(answered.count)"
                                try await sender.sendWithRetry(content)
                                answered.append(content)
                                await progress.step()
                            }
                            return answered
                        }
                    }
                    // All clients read meanwhile, up to the last message.
                    for watcher in watchers {
                        group.addTask {
                            try await watcher.follow { $0.has("the last", in: Room.aliceBob) }
                            return []
                        }
                    }
                    group.addTask {
                        for kill in 0..<Self.kills {
                            await progress.wait(for: Self.between)
                            try await nodes.kill(kill % 2)
                            await progress.wait(for: Self.between)
                            try await nodes.start(kill % 2, on: database)
                        }
                        await stop.done()
                        return []
                    }
                    var answered: [String] = []
                    for _ in 0...senders.count { answered += try await group.next() ?? [] }
                    try await senders[0].sendWithRetry("the last")
                    answered.append("the last")
                    return try await group.reduce(into: answered) { $0 += $1 }
                }
                #expect(answered.count > Self.kills * 2 * Self.between)
                let stored = try await database.column(
                    "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90")
                #expect(stored.compactMap { $0 }.sorted() == answered.sorted())
                for watcher in watchers {
                    let client = await watcher.client
                    try await SyncOpenTests.expectEqual(client, database, newest: 20)
                    let arrivals = await client.state.arrivals[Room.aliceBob]?.filter { $0 > 90 } ?? []
                    let leftOut = await client.leftOut(of: Room.aliceBob)
                    #expect(leftOut.isDisjoint(with: arrivals))
                    let missing = Set(91...90 + answered.count).subtracting(arrivals).subtracting(leftOut)
                    #expect(missing.isEmpty, "\(missing.sorted())")
                }
                // Each client had its node killed.
                for roamer in watchers + senders { #expect(await roamer.moves > 0) }
            } catch {
                await nodes.end()
                throw error
            }
            await nodes.end()
        }
    }
}

extension TestClient {
    /// Returns the messages that deltas left out, as named in `limited`. A client that missed more than a hundred
    /// fetches them by page.
    fileprivate func leftOut(of conversation: String) -> Set<Int> {
        var leftOut: Set<Int> = []
        var last = 0
        for changes in received {
            let seqs = (changes["messages"]?.arrayValue ?? [])
                .filter { $0["conversation_id"]?.stringValue == conversation }.compactMap { $0["seq"]?.integerValue }
            guard let first = seqs.min(), let newest = seqs.max() else { continue }
            let isLimited = changes["limited"]?.arrayValue?.contains(.string(conversation)) ?? false
            if isLimited, changes["reset"] == false, last + 1 < first { leftOut.formUnion(last + 1..<first) }
            last = max(last, newest)
        }
        return leftOut
    }
}

/// Nodes of one database, each of which may be down.
private actor Nodes {
    private var processes: [ServeProcess]

    init(_ processes: [ServeProcess]) { self.processes = processes }

    var ports: [Int] { processes.map(\.port) }

    func kill(_ place: Int) async throws {
        processes[place].command.signal(SIGKILL)
        #expect(try await processes[place].command.exit() == -SIGKILL)
    }

    func start(_ place: Int, on database: TestDatabase) async throws {
        processes[place] = try await ServeProcess.start(database, ["--rate-limits", "off"])
    }

    func end() {
        for process in processes { process.command.signal(SIGKILL) }
    }
}

/// A client that moves to the next node when its own is down, and resumes with its cursor.
private actor RoamingClient {
    private(set) var client: TestClient
    private(set) var moves = 0
    private let nodes: Nodes
    private let tokens: JSON
    private var place: Int

    init(_ person: Person, _ nodes: Nodes, _ place: Int) async throws {
        self.nodes = nodes
        self.place = place
        let ports = await nodes.ports
        client = try await TestClient.connect(port: ports[place % ports.count])
        tokens = try await client.logIn(person.email)
        try await client.sync()
    }

    func follow(_ isReached: @Sendable (SyncedState) -> Bool) async throws {
        while true {
            do {
                return try await client.follow("what was sent", until: isReached)
            } catch {
                guard await client.line.isClosed else { throw error }
                try await move()
            }
        }
    }

    func sendWithRetry(_ content: String) async throws {
        let params: JSONObject = [
            "conversation_id": .string(Room.aliceBob), "content": .string(content),
            "client_id": .string(UUID().uuidString.lowercased()),
        ]
        try await eventually("an answer to \(content)") {
            do {
                try await client.call("messages.send", params)
                return true
            } catch let error as RemoteError where error.isRetryable {
                return false
            } catch is ConnectionError {
                try await move()
                return false
            }
        }
    }

    private func move() async throws {
        try await eventually("a node to go on at") { await hasMoved() }
    }

    private func hasMoved() async -> Bool {
        place += 1
        let ports = await nodes.ports
        guard let next = try? await client.resumed(at: ports[place % ports.count], with: tokens) else { return false }
        client = next
        moves += 1
        return true
    }
}
