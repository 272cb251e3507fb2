import Messaging
import Metering
import NIOCore
import Testing

@testable import LineServer

@Suite("PROXY header parser", .timeLimit(.minutes(10)))
struct ProxyHeaderTests {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// A header of that command and family with what follows.
    static func header(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        self.signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    /// The header of a client over IPv4, which has come to 203.0.113.9.
    static func client(_ address: [UInt8], _ more: [UInt8] = []) -> [UInt8] {
        self.header(0x21, 0x11, address + [203, 0, 113, 9, 0xC0, 0x01, 0x1D, 0x08] + more)
    }

    /// The header of a client over IPv6.
    static func client6(_ address: [UInt8]) -> [UInt8] {
        self.header(0x21, 0x21, address + [UInt8](repeating: 0, count: 15) + [1, 0xC0, 0x01, 0x1D, 0x08])
    }

    static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 7]
    static let documentation: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [5]

    /// A checksum, a unique id and a name, as balancers add them.
    static let additions: [UInt8] =
        [0x03, 0, 4, 1, 2, 3, 4] + [0x05, 0, 2, 0xAB, 0xCD] + [0x02, 0, 3] + Array("lb1".utf8)

    static let good: [(bytes: [UInt8], source: String?)] = [
        (client([192, 0, 2, 7]), "192.0.2.7"),
        (client([192, 0, 2, 7], additions), "192.0.2.7"),
        (client([192, 0, 2, 7], [UInt8](repeating: 0xFF, count: ProxyHeader.maxBytes - 28)), "192.0.2.7"),
        (client6(documentation), "2001:db8::5"),
        (client6(mapped), "192.0.2.7"),
        (header(0x20, 0x00, []), nil),
        (header(0x20, 0x11, [192, 0, 2, 7, 192, 0, 2, 8, 0, 1, 0, 2]), nil),
        (header(0x20, 0x00, additions), nil),
        (header(0x21, 0x00, []), nil),
        (header(0x21, 0x12, [192, 0, 2, 7, 192, 0, 2, 8, 0, 1, 0, 2]), nil),
        (header(0x21, 0x31, [UInt8](repeating: 0x2F, count: 216)), nil),
    ]

    @Test("the source is read and the rest is left, wherever the bytes are cut; what balancers add is skipped")
    func cut() throws {
        for (header, source) in Self.good {
            for cut in 0...header.count {
                var bytes = ByteBuffer(bytes: header[..<cut])
                if cut < header.count {
                    #expect(try ProxyHeader.read(from: &bytes) == nil)
                    #expect(bytes.readableBytes == cut)
                    bytes.writeBytes(header[cut...])
                }
                bytes.writeString("next\n")
                #expect(try ProxyHeader.read(from: &bytes) == ProxyHeader(source: source))
                #expect(String(buffer: bytes) == "next\n")
            }
        }
    }

    @Test("what is no such header is refused as soon as it is known")
    func wrong() {
        let bad: [([UInt8], ProxyHeaderError)] = [
            (Array("{".utf8), .notAHeader),
            // Version 1, and TLS.
            (Array("P".utf8), .notAHeader),
            ([0x16], .notAHeader),
            (Self.signature.dropLast() + [0x0B], .notAHeader),
            (Self.signature + [0x11], .notAHeader),
            (Self.signature + [0x31], .notAHeader),
            (Self.signature + [0x22], .unexpectedValue),
            (Self.signature + [0x21, 0x41], .unexpectedValue),
            (Self.signature + [0x21, 0x13], .unexpectedValue),
            (Self.signature + [0x21, 0x11, 0, 11], .tooShort),
            (Self.signature + [0x21, 0x21, 0, 35], .tooShort),
            (Self.signature + [0x21, 0x11, 0x0F, 0xF1], .tooLong),
            (Self.signature + [0x20, 0x00, 0xFF, 0xFF], .tooLong),
        ]
        for (bytes, error) in bad {
            #expect(throws: error) {
                var buffer = ByteBuffer(bytes: bytes)
                return try ProxyHeader.read(from: &buffer)
            }
            #expect(throws: Never.self) {
                var buffer = ByteBuffer(bytes: bytes.dropLast())
                return try ProxyHeader.read(from: &buffer)
            }
        }
    }

    @Test("sessions are of the address that the header names, and of the socket's where it names none")
    func sessions() async throws {
        try await withServer(.test { $0.expectsProxyHeader = true }) { server in
            for (header, source) in Self.good {
                let client = try await TestClient(server.address)
                try await client.send(ByteBuffer(bytes: header + Array((request(1) + "\n").utf8)))
                #expect(try await client.line()?.contains("server.hello") == true)
                #expect(try await client.line() == answer(1))
                #expect(try await server.sessions.next().peerAddress == source ?? "127.0.0.1")
                try await client.close()
            }
        }
    }

    @Test("row 11: clients behind one balancer are bounded by their own addresses, and refused ones are told why")
    func limits() async throws {
        let configuration = LineServer.Configuration.test {
            $0.expectsProxyHeader = true
            $0.maxConnectionsPerAddress = 2
            $0.maxConnections = 5
        }
        try await withServer(configuration) { server in
            func connect(_ last: UInt8) async throws -> (TestClient, String) {
                let client = try await TestClient(server.address)
                try await client.send(ByteBuffer(bytes: Self.client([192, 0, 2, last])))
                return (client, try await client.line() ?? "")
            }
            var served: [TestClient] = []
            var sessions: [StubSession] = []
            for last: UInt8 in [1, 2, 1, 2] {
                let (client, line) = try await connect(last)
                #expect(line.contains("server.hello"))
                served.append(client)
                sessions.append(try await server.sessions.next())
            }
            for last: UInt8 in [1, 2, 2, 1, 1] {
                let (client, line) = try await connect(last)
                #expect(line == ConnectionLimitTests.fromAddress)
                #expect(try await client.rest() == [])
            }
            #expect(try await connect(3).1.contains("server.hello"))
            #expect(try await connect(4).1 == ConnectionLimitTests.inAll)
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="from_address"} 5"#))
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="in_all"} 1"#))
            #expect(server.metrics.text.contains("postline_connections 5\n"))
            for client in served { #expect(try await client.call(request(1)) == answer(1)) }
            try await served[0].close()
            try await sessions[0].closed.value()
            #expect(try await connect(2).1 == ConnectionLimitTests.fromAddress)
            #expect(try await connect(1).1.contains("server.hello"))
        }
    }

    @Test("a connection without a header, with a wrong one, or with one that is not whole in time is closed in silence")
    func refused() async throws {
        let configuration = LineServer.Configuration.test {
            $0.expectsProxyHeader = true
            $0.authenticationTimeout = .milliseconds(300)
        }
        try await withServer(configuration) { server in
            let whole = Self.client([192, 0, 2, 7])
            let beginnings: [[UInt8]] = [
                [], Array((request(1) + "\n").utf8), Array("PROXY TCP4 192.0.2.7 203.0.113.9 1 2\r\n".utf8),
                Array(whole.dropLast()), Array(whole.prefix(5)), Self.signature + [0x21, 0x11, 0xFF, 0xFF],
            ]
            for bytes in beginnings {
                let client = try await TestClient(server.address)
                try await client.send(ByteBuffer(bytes: bytes))
                #expect((try? await client.rest()) ?? [] == [])
            }
            #expect(server.metrics.text.contains("postline_requests_received_total 0\n"))
        }
    }

    @Test("an end before the header is whole is the connection's end, in silence")
    func ended() async throws {
        try await withServer(.test { $0.expectsProxyHeader = true }) { server in
            let client = try await TestClient(server.address)
            try await client.send(ByteBuffer(bytes: Self.client([192, 0, 2, 7]).prefix(20)))
            try await client.end()
            #expect(try await client.rest() == [])
        }
    }

    @Test("where no header is expected, one is no line of the protocol")
    func off() async throws {
        try await withServer { server in
            let client = try await server.connect()
            try await client.send(ByteBuffer(bytes: Self.client([192, 0, 2, 7]) + Array("\n".utf8)))
            #expect(try await client.line()?.contains("-32700") == true)
            #expect(try await server.sessions.next().peerAddress == "127.0.0.1")
        }
    }
}
