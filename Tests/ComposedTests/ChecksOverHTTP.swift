import WireProtocol

extension Check {
    static let overHTTP = Check(
        sentence: "the HTTP port reaches every node by methods and WebSockets, also on reused connections"
    ) { system in
        let before = try await system.values("postline_connections")
        var sockets: [TextConnection] = []
        for _ in 0..<(4 * system.nodes.count) {
            let socket = try await TextConnection.open(to: system.http)
            try await socket.send(post("server.info", "{}", at: system.http))
            let answer = try await socket.waitForText(#""protocol":1"#)
            try expect(answer.hasPrefix("HTTP/1.1 200 "), "server.info was answered: \(answer)")
            try await socket.send(
                request(
                    "GET /v1/line", at: system.http,
                    [
                        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: postline.v1",
                    ]))
            let hello = try await socket.waitForText("server.hello")
            // The key and its response are those of RFC 6455.
            try expect(
                hello.hasPrefix("HTTP/1.1 101 ") && hello.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
                "an upgrade was answered: \(hello)")
            try await socket.send(message(#"{"jsonrpc":"2.0","id":1,"method":"server.info"}"#))
            try await socket.waitForText(#""id":1,"result""#)
            sockets.append(socket)
        }
        let after = try await system.values("postline_connections")
        try expect(zip(before, after).allSatisfy { $0 < $1 }, "connections were \(before), and then \(after)")
        for socket in sockets { await socket.close() }
    }

    static let streamsOverHTTP = Check(
        sentence: "an event stream continues live, and after a cut from its last event id"
    ) { system in
        let asking = try await TextConnection.open(to: system.http)
        try await asking.send(post("auth.guest", #"{"full_name":"ComposeClient over HTTP"}"#, at: system.http))
        let answer = try await asking.waitForText(#""is_guest":true}"#)
        await asking.close()
        guard let start = answer.firstRange(of: "\r\n\r\n") else { throw CheckFailure(description: answer) }
        let tokens = try JSON(parsing: String(answer[start.upperBound...]))
        let (bearer, userID) = ("Authorization: Bearer \(tokens.text("access_token"))", tokens.text("user_id"))

        try await ComposeClient.with(1, at: system.lines) { visitors in
            let group = try await visitors[0].callWithRetry(
                "conversations.create_group", ["title": .string("Over HTTP"), "member_ids": .array([.string(userID)])])
            var lastID = ""
            for round in 0..<6 {
                let stream = try await TextConnection.open(to: system.http)
                let resumed = lastID.isEmpty ? [] : ["Last-Event-ID: \(lastID)"]
                try await stream.send(request("GET /v1/changes", at: system.http, [bearer] + resumed))
                // Messages sent while there was no stream, and none from before.
                let missed = round == 0 ? #""reset":true"# : "missed \(round - 1)."
                let caughtUp = try await stream.waitForText(missed)
                try expect(
                    round < 2 || !caughtUp.contains("missed \(round - 2)."), "received events came again: \(caughtUp)")
                try await visitors[0].send("live \(round).", to: group.text("id"))
                let live = try await stream.waitForText("live \(round).")
                // Each event is a chunk, whose size line ends with CRLF.
                guard let id = live.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix("id: ") }) else {
                    throw CheckFailure(description: "an event without an id: \(live)")
                }
                lastID = String(id.dropFirst("id: ".count))
                await stream.close()
                try await visitors[0].send("missed \(round).", to: group.text("id"))
            }
        }
    }

    private static func request(
        _ line: String, at address: ComposedSystem.Address, _ headers: [String], _ body: String = ""
    ) -> [UInt8] {
        let head = ["\(line) HTTP/1.1", "Host: \(address)"] + headers
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }

    private static func post(_ method: String, _ body: String, at address: ComposedSystem.Address) -> [UInt8] {
        request("POST /v1/\(method)", at: address, ["Content-Length: \(body.utf8.count)"], body)
    }

    /// Returns a masked text frame of a client. The mask is zero and changes nothing.
    private static func message(_ text: String) -> [UInt8] {
        [0x81, 0x80 | UInt8(text.utf8.count), 0, 0, 0, 0] + Array(text.utf8)
    }
}
