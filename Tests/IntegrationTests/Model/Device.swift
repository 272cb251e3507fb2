import BoundedWait
import LineClient
import Messaging
import Testing

/// One device of one user. Whatever happens to its connection, it comes back with its cursor, to a node of its choice,
/// and goes on from what it holds.
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
    private var link: Link?
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

    /// Lives until it is cancelled: connects, takes in what comes, and begins anew when the connection ends.
    func live() async {
        while !Task.isCancelled {
            do {
                let line = try await connect()
                self.line = line
                for waiter in lineWaiters { waiter.resume() }
                lineWaiters = []
                for await push in line.pushes { try await take(push, on: line) }
            } catch {
                if let error = error as? RemoteError, !error.isRetryable { await broken("\(error)") }
            }
            await hangUp()
            reconnects += 1
            try? await Task.sleep(for: .milliseconds(Int.random(in: 5...50)))
        }
    }

    private func connect() async throws -> LineClient {
        guard let (number, node) = nodes.enumerated().randomElement(using: &random) else { throw CancellationError() }
        place = number
        told.append("node \(place): connected with \(cursor ?? "nothing")")
        let link = try await Link.open(to: node.port)
        self.link = link
        let line = try await LineClient.connect(host: "127.0.0.1", port: link.port)
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
            if isReturning, page["reset"] == true { await broken("its cursor was not continued") }
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
            cursor = params["cursor"]?.stringValue ?? cursor
        case "sync.lagged":
            lags += 1
            cursor = params["cursor"]?.stringValue ?? cursor
            try await sync(on: line)
        default:
            break
        }
    }

    private func take(_ changes: JSON, on line: LineClient) async throws {
        let (gaps, violations) = model.apply(changes, for: user)
        told = told.suffix(Self.mostTold - 1) + ["node \(place): \(changes.text)"]
        for violation in violations { await broken("\(violation); it was told:\n\(told.joined(separator: "\n"))") }
        // Kept together with what it stands for: a gap that is not closed now is still there after a reconnect.
        cursor = changes["cursor"]?.stringValue ?? cursor
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
                    // Removed meanwhile; the feed says so, too.
                    break
                }
                let messages = page.list("messages")
                model.fill(gap, messages)
                below = messages.first?.number("seq") ?? gap.seqs.lowerBound
            }
            openGaps.removeFirst()
        }
        fenceWaiters.removeAll { waiter in
            guard model.fence >= waiter.fence else { return false }
            waiter.1.resume()
            return true
        }
    }

    private var openGaps: [Model.Gap] = []

    /// The last messages and their nodes, for the report of a violation.
    private var told: [String] = []
    private var place = 0
    private static let mostTold = 12

    func broken(_ what: String) async { await writeLog.broken(what, by: name) }
}

extension Device {
    /// Calls a method until it is answered by a result or by an error that is final: on another connection where the
    /// one it was called on is lost, and again where the node says that it may be tried again.
    func surely(_ method: String, _ params: JSONObject) async throws -> JSON {
        // To be connected is waited for too.
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

    /// The connection, once there is one that is live.
    func connected() async -> LineClient {
        while true {
            if let line { return line }
            await withCheckedContinuation { lineWaiters.append($0) }
        }
    }

    /// Returns when it has seen that fence or a later one.
    func sees(_ fence: Int) async {
        if model.fence >= fence { return }
        await withCheckedContinuation { fenceWaiters.append((fence, $0)) }
    }

    func hangUp() async {
        let (line, link) = (line, link)
        (self.line, self.link) = (nil, nil)
        await line?.close()
        link?.close()
    }

    func cut(after bytes: Int, _ direction: Link.Direction) { link?.cut(after: bytes, direction) }

    /// Stops reading for as long as the body takes.
    func notReading(_ body: () async -> Void) async {
        let link = link
        try? await link?.setReading(false)
        await body()
        try? await link?.setReading(true)
    }
}
