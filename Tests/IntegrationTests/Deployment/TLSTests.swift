import BoundedWait
import Foundation
import LineClient
import NIOCore
import NIOSSL
import Testing

@Suite("Line protocol over TLS", .timeLimit(.minutes(20)))
struct TLSTests {
    /// Runs a node with a test certificate, which the body can replace.
    private func withTLS(
        _ arguments: [String] = [], host: String = "localhost", validFor seconds: TimeInterval = 3_600,
        _ body: @Sendable (ServeProcess, TestCertificates, TestDatabase) async throws -> Void
    ) async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue(for: host, validFor: seconds)
            try await TestDatabase.with { database in
                let node = try await ServeProcess.start(database, arguments, environment: certificates.environment)
                defer { node.command.signal(SIGKILL) }
                try await body(node, certificates, database)
            }
        }
    }

    @Test("requests, pushes and half-close work over TLS as without")
    func session() async throws {
        try await withTLS { node, certificates, _ in
            let alice = try await TestClient.connect(port: node.port, trust: try certificates.trust)
            try await alice.signIn(.alice)
            let bob = try await TestClient.connect(host: "localhost", port: node.port, trust: try certificates.trust)
            try await bob.signIn(.bob)
            try await bob.sync()
            try await alice.send("over TLS", to: Room.aliceBob)
            try await bob.follow { $0.has("over TLS", in: Room.aliceBob) }
            var text = ""
            for number in 0..<500 {
                text += #"{"jsonrpc":"2.0","id":"\#(number)","method":"messages.list","params":"#
                text += #"{"conversation_id":"\#(Room.aliceBob)"}}"# + "\n"
            }
            try await alice.line.send(bytes: ByteBuffer(string: text))
            try await alice.line.finishSending()
            for number in 0..<500 {
                let answer = try await alice.nextLine()
                #expect(answer.hasPrefix(#"{"jsonrpc":"2.0","id":"\#(number)","result":{"messages":["#))
            }
            try await within("the end") { await alice.line.waitUntilClosed() }
            node.command.signal(SIGTERM)
            try await within("the goodbye") { await bob.line.waitUntilClosed() }
            #expect(await bob.line.goodbye?.code == "shutting_down")
            #expect(try await node.command.exit() == 0)
        }
    }

    @Test("closes a client without TLS, with a TLS alert only")
    func plaintext() async throws {
        try await withTLS { node, certificates, _ in
            for bytes in [#"{"jsonrpc":"2.0","id":1,"method":"server.info"}"# + "\n", "GET / HTTP/1.1\r\n\r\n"] {
                let peer = try await RawSocketClient.connect(port: node.port)
                let received = try await peer.exchange(Array(bytes.utf8))
                // At most one alert (RFC 8446, section 6): its type, its version, two bytes.
                #expect(received.isEmpty || (received.count == 7 && received[0] == 21), "\(received)")
            }
            let alice = try await TestClient.connect(port: node.port, trust: try certificates.trust)
            try await alice.call("server.info")
        }
    }

    @Test("a client refuses untrusted, misnamed and expired certificates")
    func untrusted() async throws {
        try await withTLS { node, certificates, _ in
            let other = try TestCertificates(in: certificates.directory)
            await expectRefused(node.port, try other.trust, "not from a trusted authority")
            await expectRefused(node.port, try ServerTrust(), "not from a trusted authority")
            await #expect(throws: ConnectionError.self) {
                _ = try await LineClient.connect(host: "127.0.0.1", port: node.port, timeout: .milliseconds(300))
            }
        }
        try await withTLS(host: "elsewhere.example") { node, certificates, _ in
            await expectRefused(node.port, try certificates.trust, "for another name")
            await expectRefused(node.port, try certificates.trust, host: "localhost", "for another name")
        }
        try await withTLS(validFor: -60) { node, certificates, _ in
            await expectRefused(node.port, try certificates.trust, "not valid now")
        }
        try await TestCertificates.with { certificates in
            try await withNode { node in
                await expectRefused(node.port, try certificates.trust, "does not speak TLS")
            }
        }
    }

    private func expectRefused(
        _ port: Int, _ trust: @autoclosure () throws -> ServerTrust, host: String = "127.0.0.1", _ sentence: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do {
            let client = try await LineClient.connect(host: host, port: port, trust: try trust())
            Issue.record("it is trusted", sourceLocation: sourceLocation)
            await client.close()
        } catch {
            #expect("\(error)".contains(sentence), "\(error)", sourceLocation: sourceLocation)
        }
    }

    @Test("answers requests of clients that end without close_notify")
    func raggedEnd() async throws {
        try await withTLS { node, certificates, _ in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .file(certificates.authorities)
            let context = try NIOSSLContext(configuration: configuration)
            let peer = try await RawSocketClient.connect(port: node.port) {
                [OutputCloser(), try NIOSSLClientHandler(context: context, serverHostname: "localhost")]
            }
            var text = #"{"jsonrpc":"2.0","id":0,"method":"auth.login","params":{"email":"alice@example.com","#
            text += #""password":"\#(TestNode.password)"}}"# + "\n"
            for number in 1...20 { text += #"{"jsonrpc":"2.0","id":\#(number),"method":"me.get"}"# + "\n" }
            let received = try await peer.exchange(Array(text.utf8), then: OutputCloser.Order())
            let lines = String(decoding: received, as: UTF8.self).split(separator: "\n")
            #expect(lines.count == 22)
            #expect(lines.last?.hasPrefix(#"{"jsonrpc":"2.0","id":20,"result":{"id":"\#(Person.alice.id)""#) == true)
        }
    }

    /// A handler that half-closes the socket itself, below TLS, on an event.
    private final class OutputCloser: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        struct Order: Sendable {}

        func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
            context.close(mode: .output, promise: promise)
        }
    }

    @Test("refuses TLS before 1.2")
    func oldVersions() async throws {
        try await withTLS { node, certificates, _ in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .file(certificates.authorities)
            configuration.minimumTLSVersion = .tlsv1
            for (version, isSpoken) in [(TLSVersion.tlsv11, false), (.tlsv12, true), (.tlsv13, true)] {
                configuration.maximumTLSVersion = version
                let context = try NIOSSLContext(configuration: configuration)
                let peer = try await RawSocketClient.connect(port: node.port) {
                    [try NIOSSLClientHandler(context: context, serverHostname: "localhost")]
                }
                let received = try? await peer.exchange([]) { $0.contains("server.hello") }
                #expect((received?.isEmpty == false) == isSpoken, "\(version)")
            }
        }
    }

    @Test("SIGHUP reloads a valid certificate for new connections")
    func renewal() async throws {
        try await withTLS { node, certificates, _ in
            let old = try await TestClient.connect(port: node.port, trust: try certificates.trust)
            try await old.signIn(.alice)
            let renewed = try TestCertificates(in: certificates.directory)
            try renewed.issue()
            node.command.signal(SIGHUP)
            try await node.command.waitForErrors("the certificate was reloaded")
            await expectRefused(node.port, try certificates.trust, "not from a trusted authority")
            let new = try await TestClient.connect(port: node.port, trust: try renewed.trust)
            try await new.call("server.info")
            #expect(try await old.call("me.get")["username"] == "alice")

            try renewed.issue(validFor: -60)
            node.command.signal(SIGHUP)
            try await node.command.waitForErrors("the certificate is not valid now: clients refuse the server")
            try renewed.issue()
            node.command.signal(SIGHUP)
            try await eventually("the certificate that is valid") {
                (try? await TestClient.connect(port: node.port, trust: renewed.trust)) != nil
            }

            try TestCertificates.write("no certificate", to: renewed.files.certificate)
            node.command.signal(SIGHUP)
            let log = try await node.command.waitForErrors(
                "the certificate cannot be reloaded; the old one stays in use")
            #expect(log.contains(" error ") && log.contains("POSTLINE_TLS_CERTIFICATE cannot be used"))
            let later = try await TestClient.connect(port: node.port, trust: try renewed.trust)
            try await later.call("server.info")
            #expect(try await old.call("me.get")["username"] == "alice")
            #expect(try await new.call("server.info")["server"] == "postline")
        }
    }

    @Test("closes an unfinished handshake at the authentication deadline")
    func stalled() async throws {
        // The beginning of a ClientHello that announces 512 bytes.
        let beginning: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
        try await withTLS(["--authentication-seconds", "1", "--max-connections", "4"]) { node, certificates, _ in
            try await withThrowingTaskGroup { group in
                for bytes in [[], beginning, [], beginning] {
                    group.addTask {
                        let start = ContinuousClock.now
                        let peer = try await RawSocketClient.connect(port: node.port)
                        #expect(try await peer.exchange(bytes).isEmpty)
                        #expect(.now - start >= .milliseconds(900))
                    }
                }
                try await group.waitForAll()
            }
            // Their slots are free again: a client over the limit gets no hello.
            _ = try await TestClient.connect(port: node.port, trust: try certificates.trust)
        }
    }

    @Test("row 11: connections over the limit get the reason over TLS too")
    func refused() async throws {
        try await withTLS(["--max-connections", "1"]) { node, certificates, _ in
            let alice = try await TestClient.connect(port: node.port, trust: try certificates.trust)
            for _ in 0..<3 {
                await expectRefused(node.port, try certificates.trust, "as many connections in all as it takes")
            }
            try await alice.call("server.info")
        }
    }

    @Test("a node ends in time with clients that do not read or handshake")
    func stops() async throws {
        try await withTLS { node, certificates, _ in
            let alice = try await TestClient.connect(port: node.port, trust: try certificates.trust)
            try await alice.signIn(.alice)
            try await alice.line.setReading(false)
            let silent = try await RawSocketClient.connect(port: node.port)
            node.command.signal(SIGTERM)
            #expect(try await node.command.exit() == 0)
            #expect(try await silent.exchange([]).isEmpty)
            await alice.close()
        }
    }

    @Test("row 52: an unusable certificate names the setting, with exit 78")
    func settings() async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue()
            let other = try TestCertificates(in: certificates.directory.appending(path: "."))
            let files = certificates.files
            let mismatched = certificates.directory.appending(path: "other.key").path
            try TestCertificates.write(
                try String(contentsOfFile: files.key, encoding: .utf8), to: mismatched)
            try other.issue()
            let bad: [(String, String, String)] = [
                (files.certificate, "", "--tls-certificate needs its key: set POSTLINE_TLS_KEY."),
                ("", files.key, "--tls-key needs its certificate: set POSTLINE_TLS_CERTIFICATE."),
                (
                    "/nowhere.pem", files.key,
                    "POSTLINE_TLS_CERTIFICATE cannot be used: /nowhere.pem cannot be read."
                ),
                (
                    files.certificate, "/nowhere.key",
                    "POSTLINE_TLS_KEY cannot be used: /nowhere.key cannot be read."
                ),
                (
                    files.key, files.key,
                    "POSTLINE_TLS_CERTIFICATE cannot be used: \(files.key) holds no certificate"
                ),
                (
                    files.certificate, files.certificate,
                    "POSTLINE_TLS_KEY cannot be used: \(files.certificate) holds no"
                ),
                (files.certificate, mismatched, "the key in \(mismatched) does not fit the certificate in"),
            ]
            for (certificate, key, sentence) in bad {
                let result = try await Command.run(
                    ["serve", "--tls-certificate", certificate, "--tls-key", key],
                    environment: [
                        "POSTLINE_DATABASE_URL": "postgresql://nowhere", "POSTLINE_JWT_SECRET": TestNode.secret,
                    ])
                #expect(result.status == 78, "\(sentence)")
                #expect(result.errors.contains(sentence), "\(result.errors)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            }
        }
    }

    @Test(
        "postline chat uses TLS, and explains an untrusted server"
    )
    func chat() async throws {
        try await withTLS { node, certificates, _ in
            let arguments = ["chat", "alice@example.com", "--port", "\(node.port)"]
            let environment = ["POSTLINE_PASSWORD": TestNode.password]
            let chat = try Command(
                arguments + ["--host", "localhost", "--tls-ca", certificates.authorities], environment: environment)
            defer { chat.signal(SIGKILL) }
            try await chat.waitForOutput("* connected as Alice Moreau")
            try chat.type("/quit")
            #expect(try await chat.exit() == 0)
            let stranger = try await Command.run(arguments + ["--tls"], environment: environment)
            #expect(stranger.status == 1)
            #expect(
                stranger.errors
                    == "postline: No trusted connection can be made to the server: its certificate is not from an "
                    + "authority that this device trusts, or is not valid now.\n")
            let nothing = try await Command.run(arguments + ["--tls-ca", "/nowhere.pem"], environment: environment)
            #expect(nothing.status == 1)
            #expect(nothing.errors == "postline: /nowhere.pem cannot be read as a PEM file of certificates.\n")
        }
    }
}
