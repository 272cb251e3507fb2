import LineClient
import Testing
@testable import WireProtocol

@Suite("server.info", .timeLimit(.minutes(20)))
struct ServerInfoTests {
    @Test("returns the hello's content and the time without sign-in")
    func info() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let info = try await client.call("server.info")
            expectShape(
                info,
                [
                    "server", "version", "protocol", "max_line_bytes", "max_in_flight", "ping_seconds", "features",
                    "contact", "time",
                ])
            #expect(info["features"] == .array(ServerInfo.features.map { .string($0) }))
            #expect(info["server"] == "postline")
            #expect(info["protocol"] == 1)
            #expect(info["version"]?.stringValue == client.line.hello.version)
            #expect(info["max_line_bytes"]?.integerValue == client.line.hello.maximumLineBytes)
            #expect(info["max_in_flight"]?.integerValue == client.line.hello.maximumInFlight)
            #expect(info["ping_seconds"]?.integerValue == client.line.hello.pingSeconds)
            expectTimestamp(info["time"])
        }
    }

    @Test("server.info rejects params")
    func params() async throws {
        try await withNode { node in
            let client = try await node.connect()
            try await client.refused(.invalidParams, "server.info", ["time": 1], field: "time")
        }
    }

    @Test("suggests the nearest method for an unknown one")
    func unknown() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let methods: [(String, String?)] = [
                ("server.inof", "server.info"), ("messages.sned", "messages.send"), ("me.update_", "me.update"),
                ("weather.get", nil), ("", nil),
            ]
            for (method, suggestion) in methods {
                let error = try await client.refused(.unknownMethod, method)
                #expect(error?.data["suggestion"]?.stringValue == suggestion)
            }
        }
    }
}
