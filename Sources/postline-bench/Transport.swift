import LineClient
import NIOPosix

/// The transport of a live session.
enum Transport: Sendable, CaseIterable {
    case line, webSocket, eventStream

    /// The name for a table, such as `line`.
    var name: String {
        switch self {
        case .line: "line protocol"
        case .webSocket: "WebSocket"
        case .eventStream: "server-sent events"
        }
    }

    /// Returns the node's port for this transport.
    func port(of ports: BenchNode.Ports) -> Int {
        switch self {
        case .line: ports.line
        case .webSocket, .eventStream: ports.http
        }
    }

    /// Signs in, opens a sync, and follows all changes.
    ///
    /// - Parameter inBackground: true if the user must not count as online, which an event stream cannot express.
    func watch(
        port: Int, group: MultiThreadedEventLoopGroup, token: String, cursor: String?, inBackground: Bool = false,
        tally: Tally
    ) async throws -> Watcher {
        let lines = Self.lines(token, cursor, inBackground)
        switch self {
        case .line:
            return try await Watcher.connect(
                port: port, group: group, saying: lines.text, until: .lines(lines.answers), tally: tally)
        case .webSocket:
            return try await Watcher.connect(
                port: port, group: group, saying: lines.text, until: .lines(lines.answers), tally: tally
            ) { [WebSocketClientFraming()] }
        case .eventStream:
            guard !inBackground else { throw BenchError("An event stream is never in the background.") }
            return try await Watcher.connect(
                port: port, group: group, saying: Self.request(token, cursor), until: .event, tally: tally)
        }
    }

    /// The requests, and the number of response lines including the hello.
    private static func lines(
        _ token: String, _ cursor: String?, _ inBackground: Bool
    ) -> (text: String, answers: Int) {
        let start = cursor.map { #","cursor":"\#($0)""# } ?? ""
        var lines = [
            #"{"jsonrpc":"2.0","id":1,"method":"session.authenticate","params":{"access_token":"\#(token)"}}"#,
            #"{"jsonrpc":"2.0","id":2,"method":"sync.open","params":{"messages_per_conversation":0\#(start)}}"#,
        ]
        if inBackground {
            lines.insert(
                #"{"jsonrpc":"2.0","id":3,"method":"session.set_state","params":{"state":"background"}}"#, at: 1)
        }
        return (lines.map { $0 + "\n" }.joined(), lines.count + 1)
    }

    private static func request(_ token: String, _ cursor: String?) -> String {
        let start = cursor.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        return "GET /v1/changes?messages_per_conversation=0 HTTP/1.1\r\nHost: localhost\r\n"
            + "Authorization: Bearer \(token)\r\n\(start)\r\n"
    }
}
