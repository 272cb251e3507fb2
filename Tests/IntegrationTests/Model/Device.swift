import BoundedWait
@testable import ChangeFeed
import LineClient
import Testing
import WireProtocol

/// A device of a user. It reconnects with its cursor to a random node, and keeps its state.
actor Device {
    nonisolated let name: String
    nonisolated let user: String

    private(set) var model = Model()
    private(set) var reconnects = 0

    /// The number of `sync.lagged` notices.
    private(set) var lags = 0

    private let token: String
    private let nodes: [NodeProcess]
    private let writeLog: WriteLog
    private var random: SeededRandom
    private var cursor: String?
    private var line: LineClient?
    private var proxy: TCPProxy?
    private var lineWaiters: [CheckedContinuation<Void, Never>] = []
    private var fenceWaiters: [(fence: Int, CheckedContinuation<Void, Never>)] = []

    init(
        _ name: String, _ user: (id: String, token: String), _ nodes: [NodeProcess], _ writeLog: WriteLog,
        _ random: SeededRandom
    ) {
        self.name = name
        self.user = user.id
        token = user.token
        self.nodes = nodes
        self.writeLog = writeLog
        self.random = random
    }

    /// Connects, applies changes, and reconnects, until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                let line = try await connect()
                self.line = line
                for waiter in lineWaiters { waiter.resume() }
                lineWaiters = []
                for await push in line.pushes { try await take(push, on: line) }
            } catch {
                if let error = error as? RemoteError, !error.isRetryable { await recordViolation("\(error)") }
            }
            await disconnect()
            reconnects += 1
            try? await Task.sleep(for: .milliseconds(Int.random(in: 5...50)))
        }
    }

    private func connect() async throws -> LineClient {
        guard let (number, node) = nodes.enumerated().randomElement(using: &random) else { throw CancellationError() }
        place = number
        recentChanges.append("node \(place): connected with \(cursor ?? "nothing")")
        let proxy = try await TCPProxy(to: node.port)
        self.proxy = proxy
        let line = try await LineClient.connect(host: "127.0.0.1", port: proxy.port)
        do {
            _ = try await line.call("session.authenticate", ["access_token": .string(token)])
            try await sync(on: line)
            return line
        } catch {
            await line.close()
            throw error
        }
    }

    private func sync(on line: LineClient) async throws {
        let isReturning = cursor != nil
        var isMore = true
        while isMore {
            let page = try await line.call("sync.open", cursor.map { ["cursor": .string($0)] } ?? [:])
            if isReturning, page["reset"] == true { await recordViolation("its cursor was not continued") }
            try await take(page, on: line)
            isMore = page["more"] == true
        }
    }

    private func take(_ push: ServerNotification, on line: LineClient) async throws {
        let params = JSON.object(try push.params())
        switch push.method {
        case "changes":
            try await take(params, on: line)
        case "server.ping":
            await take(cursor: params["cursor"])
        case "sync.lagged":
            lags += 1
            await take(cursor: params["cursor"])
            try await sync(on: line)
        default:
            break
        }
    }

    private func take(_ changes: JSON, on line: LineClient) async throws {
        let roomsWithSettings = await writeLog.roomsWithSettings[user] ?? []
        let (gaps, violations) = model.apply(changes, for: user, roomsWithSettings: roomsWithSettings)
        recentChanges = recentChanges.suffix(Self.maxRecentChanges - 1) + ["node \(place): \(changes.text)"]
        for violation in violations {
            await recordViolation("\(violation); recent changes:\n\(recentChanges.joined(separator: "\n"))")
        }
        // The cursor is stored with the list of gaps, so that gaps left open now are closed after a reconnect.
        await take(cursor: changes["cursor"])
        if let cursor, random.chance(10) { _ = try await line.call("sync.ack", ["cursor": .string(cursor)]) }
        openGaps += gaps
        while let gap = openGaps.first {
            var below = gap.seqs.upperBound
            while below > gap.seqs.lowerBound {
                let page: JSON
                do {
                    page = try await line.call(
                        "messages.list",
                        ["conversation_id": .string(gap.room), "before_seq": .integer(below), "limit": 200])
                } catch let error as RemoteError where error.knownCode == .notFound {
                    // The user was removed meanwhile, which the feed also reports.
                    break
                }
                model.fill(gap, page)
                below = page.list("messages").first?.number("seq") ?? gap.seqs.lowerBound
            }
            openGaps.removeFirst()
        }
        fenceWaiters.removeAll { waiter in
            guard model.fence >= waiter.fence else { return false }
            waiter.1.resume()
            return true
        }
    }

    /// Stores a cursor, which must not be behind the last: the client would receive changes twice.
    private func take(cursor new: JSON?) async {
        guard let new = new?.stringValue else { return }
        let reached = cursor.flatMap { Cursor($0) }?.place.snapshots.last
        cursor = new
        guard let snapshot = Cursor(new)?.place.snapshots.last else {
            return await recordViolation("its cursor became \(new), which is invalid")
        }
        if let reached, !snapshot.covers(reached) {
            await recordViolation("its cursor moved back from \(reached.text) to \(snapshot.text)")
        }
    }

    private var openGaps: [Model.Gap] = []

    /// The last changes and the nodes that sent them, for the report of a violation.
    private var recentChanges: [String] = []
    private var place = 0
    private static let maxRecentChanges = 12

    func recordViolation(_ what: String) async { await writeLog.recordViolation(what, by: name) }
}

extension Device {
    /// Calls a method until it returns a result or a final error, and retries after lost connections and retryable
    /// errors.
    func callWithRetry(_ method: String, _ params: JSONObject) async throws -> JSON {
        // The wait for a connection is limited too.
        try await within("\(name): the answer of \(method)") { [self] in
            try await eventually("the answer of \(method)") {
                do {
                    return try await connected().call(method, params)
                } catch let error as RemoteError where error.isRetryable {
                    return nil
                } catch is ConnectionError {
                    return nil
                }
            }
        }
    }

    /// Returns the connection once it is live.
    func connected() async -> LineClient {
        while true {
            if let line { return line }
            await withCheckedContinuation { lineWaiters.append($0) }
        }
    }

    /// Waits until the device has seen the fence or a later one.
    func waitForFence(_ fence: Int) async {
        if model.fence >= fence { return }
        await withCheckedContinuation { fenceWaiters.append((fence, $0)) }
    }

    func disconnect() async {
        let (line, proxy) = (line, proxy)
        (self.line, self.proxy) = (nil, nil)
        await line?.close()
        proxy?.close()
    }

    func cut(after bytes: Int, _ direction: TCPProxy.Direction) { proxy?.cut(after: bytes, direction) }

    /// Pauses reading while the body runs.
    func notReading(_ body: () async -> Void) async {
        let proxy = proxy
        try? await proxy?.setReading(false)
        await body()
        try? await proxy?.setReading(true)
    }
}
