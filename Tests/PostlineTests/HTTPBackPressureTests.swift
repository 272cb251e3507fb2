@testable import HTTPServing
import LineClient
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Gateway

@Suite("HTTP backpressure", .timeLimit(.minutes(10)))
struct HTTPBackPressureTests {
    /// Runs a server whose unread responses may have the size of three large ones.
    private func withServer(_ body: (Int) async throws -> Void) async throws {
        var configuration = HTTPServer.Configuration()
        configuration.bounds.maxUnwrittenBytes = 3 * LargeResponses.bytes
        try await withHTTPServer(configuration, of: LargeResponses(), body)
    }

    // A9
    @Test("closes the connections with the oldest unread responses beyond the limit")
    func unreadResponses() async throws {
        try await withServer { port in
            var clients: [SlowReader] = []
            for _ in 0..<4 {
                let client = try await SlowReader(port: port)
                try await client.begun.get()
                clients.append(client)
            }
            var received: [Int] = []
            for client in clients { received.append(try await client.readToEnd()) }
            #expect(received[0] < LargeResponses.bytes)
            for count in received.dropFirst() { #expect(count > LargeResponses.bytes) }
            // The responses of closed and completed connections are no longer counted.
            for _ in 0..<4 {
                let client = try await SlowReader(port: port)
                #expect(try await client.readToEnd() > LargeResponses.bytes)
            }
        }
    }

    @Test("closes connections of the address with the most unread bytes first")
    func unreadByAddress() async throws {
        try await withServer { port in
            let other = try await SlowReader(port: port, from: "127.0.0.2")
            try await other.begun.get()
            var clients: [SlowReader] = []
            for _ in 0..<3 {
                let client = try await SlowReader(port: port)
                try await client.begun.get()
                clients.append(client)
            }
            #expect(try await other.readToEnd() > LargeResponses.bytes)
            #expect(try await clients[0].readToEnd() < LargeResponses.bytes)
        }
    }

    @Test("closes connections without progress first")
    func unreadWithoutProgress() async throws {
        try await withServer { port in
            var clients: [SlowReader] = []
            for number in 0..<4 {
                // The first client reads on, slowly.
                if number == 3 { try await clients[0].read(LargeResponses.bytes / 2) }
                let client = try await SlowReader(port: port)
                try await client.begun.get()
                clients.append(client)
            }
            #expect(try await clients[0].readToEnd() > LargeResponses.bytes)
            #expect(try await clients[1].readToEnd() < LargeResponses.bytes)
        }
    }
}

/// A handler whose responses exceed the kernel's buffers for a connection.
private struct LargeResponses: HTTPRequestHandler {
    static let bytes = 1 << 25
    private static let body = ByteBuffer(repeating: 0x61, count: bytes)

    func respond(to request: HTTPRequest) async -> HTTPResponse { HTTPResponse(.ok, body: Self.body) }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(error.status, text: error.message)
    }

    func close() async {}
}
