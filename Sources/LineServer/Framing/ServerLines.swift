import NIOCore
import WireProtocol

/// Lines that the server sends without a request (`docs/protocol.md`, sections 1 and 4), with their line ends.
enum ServerLines {
    static func hello(_ configuration: LineServer.Configuration) -> ByteBuffer {
        line("server.hello", configuration.info.object)
    }

    /// - Parameter cursor: the client's cursor, or nil without live sync.
    static func ping(cursor: String?) -> ByteBuffer {
        line("server.ping", cursor.map { ["cursor": .string($0)] } ?? [:])
    }

    static func lagged(cursor: String) -> ByteBuffer {
        line("sync.lagged", ["cursor": .string(cursor)])
    }

    static func goodbye(_ goodbye: Goodbye) -> ByteBuffer {
        line(
            "server.goodbye",
            [
                "code": .string(goodbye.code.rawValue),
                "message": .string(goodbye.message),
                "reconnect": .bool(goodbye.code.reconnect),
            ])
    }

    private static func line(_ method: String, _ params: JSONObject) -> ByteBuffer {
        var line = ByteBuffer()
        line.writeStaticString("{\"jsonrpc\":\"2.0\",\"method\":")
        line.writeJSONString(method)
        line.writeStaticString(",\"params\":")
        params.write(to: &line)
        line.writeStaticString("}\n")
        return line
    }
}
