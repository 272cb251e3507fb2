internal import LineClient
internal import NIOPosix

/// How a live session comes to a node.
enum WayIn: Sendable, CaseIterable {
    case line, webSocket, eventStream

    /// Such as `line`, for a table.
    var name: String {
        switch self {
        case .line: "line protocol"
        case .webSocket: "WebSocket"
        case .eventStream: "server-sent events"
        }
    }

    /// Which of a node's ports serves it.
    func port(of ports: BenchNode.Ports) -> Int {
        switch self {
        case .line: ports.line
        case .webSocket, .eventStream: ports.http
        }
    }

    /// Signs in, opens a sync, and follows all changes from then on.
    func watch(
        port: Int, group: MultiThreadedEventLoopGroup, token: String, cursor: String?, tally: Tally
    ) async throws -> Watcher {
        switch self {
        // The hello and the two answers.
        case .line:
            return try await Watcher.connect(
                port: port, group: group, saying: Self.lines(token, cursor), until: .lines(3), tally: tally)
        case .webSocket:
            return try await Watcher.connect(
                port: port, group: group, saying: Self.lines(token, cursor), until: .lines(3), tally: tally
            ) { [WebSocketPeer()] }
        case .eventStream:
            return try await Watcher.connect(
                port: port, group: group, saying: Self.request(token, cursor), until: .event, tally: tally)
        }
    }

    private static func lines(_ token: String, _ cursor: String?) -> String {
        let start = cursor.map { #","cursor":"\#($0)""# } ?? ""
        return """
            {"jsonrpc":"2.0","id":1,"method":"session.authenticate","params":{"access_token":"\(token)"}}
            {"jsonrpc":"2.0","id":2,"method":"sync.open","params":{"messages_per_conversation":0\(start)}}

            """
    }

    private static func request(_ token: String, _ cursor: String?) -> String {
        let start = cursor.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        return "GET /v1/changes?messages_per_conversation=0 HTTP/1.1\r\nHost: localhost\r\n"
            + "Authorization: Bearer \(token)\r\n\(start)\r\n"
    }
}
