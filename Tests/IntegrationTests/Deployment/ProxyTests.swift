import Foundation
import LineClient
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@Suite("PROXY protocol", .timeLimit(.minutes(20)))
struct ProxyTests {
    /// Returns the PROXY header for a client at 192.0.2.`last`, followed by requests.
    private static func bytes(_ last: UInt8, _ requests: String...) -> [UInt8] {
        [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12]
            + [192, 0, 2, last, 203, 0, 113, 9, 0xC0, 0x01, 0x1D, 0x08]
            + Array(requests.map { $0 + "\n" }.joined().utf8)
    }

    private static let guess =
        #"{"jsonrpc":"2.0","id":1,"method":"auth.login","params":{"email":"nobody@example.com","password":"wrong"}}"#

    @Test("clients behind one balancer have their own limits and addresses")
    func limits() async throws {
        try await TestDatabase.with { database in
            let arguments = ["--proxy-protocol", "on", "--sign-ins-per-minute", "2", "--log-level", "debug"]
            try await ServeProcess.with(database, arguments) { node in
                func guess(_ last: UInt8, expecting code: String) async throws {
                    let peer = try await RawSocketClient.connect(port: node.port)
                    let received = try await peer.exchange(Self.bytes(last, Self.guess)) { $0.contains(#""id":1,"#) }
                    let text = String(decoding: received, as: UTF8.self)
                    #expect(text.contains(#""code":"\#(code)""#), "\(last): \(text)")
                }
                for _ in 0..<2 { try await guess(1, expecting: "invalid_credentials") }
                for _ in 0..<3 { try await guess(1, expecting: "rate_limited") }
                try await guess(2, expecting: "invalid_credentials")
                let log = try await node.command.waitForErrors("peer=192.0.2.2")
                #expect(log.contains("peer=192.0.2.1"))
                #expect(!log.contains("peer=127.0.0.1"))
            }
        }
    }

    @Test("the PROXY header precedes TLS")
    func beforeTLS() async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue()
            try await TestDatabase.with { database in
                let environment = certificates.environment.merging(["POSTLINE_PROXY_PROTOCOL": "on"]) { $1 }
                let node = try await ServeProcess.start(
                    database, ["--max-connections-per-address", "1"], environment: environment)
                defer { node.command.signal(SIGKILL) }
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.trustRoots = .file(certificates.authorities)
                let context = try NIOSSLContext(configuration: configuration)
                func connect(_ last: UInt8) async throws -> RawSocketClient {
                    try await RawSocketClient.connect(port: node.port) {
                        [
                            PrefixWriter(Self.bytes(last)),
                            try NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                        ]
                    }
                }
                // The first stays connected while the others connect.
                try await withThrowingTaskGroup { group in
                    let (greeted, greeting) = AsyncStream.makeStream(of: Void.self)
                    let held = try await connect(1)
                    group.addTask {
                        _ = try await held.exchange([]) {
                            if $0.contains("server.hello") { greeting.finish() }
                            return false
                        }
                    }
                    for await _ in greeted {}
                    let other = try await connect(2).exchange([]) { $0.contains("\n") }
                    #expect(String(decoding: other, as: UTF8.self).contains("server.hello"))
                    let same = try await connect(1).exchange([])
                    #expect(String(decoding: same, as: UTF8.self).contains("from your address"))
                    node.command.signal(SIGTERM)
                    #expect(try await node.command.exit() == 0)
                    try await group.waitForAll()
                }
            }
        }
    }

    /// A handler that sends bytes as soon as it is connected.
    private final class PrefixWriter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            context.fireChannelActive()
        }
    }
}
