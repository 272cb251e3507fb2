import Foundation
import LineClient
import Messaging
import NIOCore
import NIOPosix
import Postgres
import PrivatePostgres
import TestSupport
import Testing

@testable import Postline

@Suite("Client wire protocol")
@MainActor
struct ClientWireTests {
    @Test("tolerates unknown members, kinds, codes and methods")
    func newerServer() throws {
        let profile = """
            {"id":"u","username":"u","full_name":null,"bio":null,"avatar_type":"hologram","avatar_id":null,"avatar_url":null,
            "website":null,"location":null,"language_code":null,"is_verified":false,"is_guest":false,"is_deleted":false,
            "attributes":{"tier_name":{"new_member":[1,2.5,null,"x",true]}},"version":3,"mood":{"a":1},
            "created_at":"2026-11-20T10:00:00.000000Z","updated_at":"2026-11-20T10:00:00.123456Z"}
            """
        let read = try WireJSON.decode(User.self, from: Data(profile.utf8))
        #expect(read.avatarType == "hologram")
        #expect(read.avatar == .initials("U", color: AvatarColor(of: "u")))
        #expect(read.attributes == ["tier_name": ["new_member": [1, 2.5, nil, "x", true]]])
        #expect(abs(read.updatedAt.timeIntervalSince1970 - 1_763_632_800.123456 - 31_536_000) < 0.000_01)
        let changes = """
            {"cursor":"c","presence":[{"user_id":"u","is_online":true}],"messages":[{"id":"m","conversation_id":"c","seq":1,
            "sender_id":"u","sender":{"id":"u","hat":1},"client_id":null,"kind":"poll","content":null,"attachment":null,
            "is_read":false,"version":1,"created_at":"2026-11-20T10:00:00.000000Z","edited_at":null,"deleted_at":null,
            "options":["a","b"]}]}
            """
        #expect(try WireJSON.decode(Changes.self, from: Data(changes.utf8)).messages[0].kind == "poll")
    }

    @Test(
        "initials are the first letters of the first and last word",
        .covers("C17"))
    func initials() {
        let expected = [
            "Alice Moreau": "AM", "alice": "A", "Ana María de la Cruz": "AC", "李 小龙": "李小", "  x  ": "X",
            "👩‍🚀 Zoë": "Z", "": "", "…": "", "3 Musketeers": "3M", "éric": "É",
        ]
        for (name, initials) in expected { #expect(Avatar.initials(of: name) == initials, "\(name)") }
        #expect(Avatar.initials(of: nil) == "")
        // The colour is the same on every device.
        #expect(
            AvatarColor(of: "a11ce000-0000-4000-8000-000000000001")
                == AvatarColor(of: "a11ce000-0000-4000-8000-000000000001"))
    }

    @Test(
        "tells an unreachable server from one that is not Postline",
        arguments: [
            ("", PostlineError.Code.offline),
            ("SSH-2.0-OpenSSH_9.2\n", .notTrusted),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"server.he", .offline),
            (
                "{\"jsonrpc\":\"2.0\",\"method\":\"server.hello\",\"params\":{\"server\":\"another\",\"protocol\":1}}\n",
                .notTrusted
            ),
            (
                """
                {"jsonrpc":"2.0","method":"server.goodbye","params":{"code":"too_many_connections","message":"Full.",\
                "reconnect":true}}

                """, .offline
            ),
        ])
    func noServer(_ said: String, _ code: PostlineError.Code) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SendThenClose(said))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        await #expect {
            try await LineConnection.connect(to: .node(port), by: PosixConnector())
        } throws: { error in
            (error as? PostlineError)?.code == code
        }
        try await listener.close()
    }

    @Test("waits for a slow hello with a notification only")
    func slowHello() async throws {
        let (said, saying) = AsyncStream<String>.makeStream()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(LineDecoder()), HelloAfterFirstLine { saying.yield($0) })
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let connection = try await LineConnection.connect(to: .node(port), by: PosixConnector())
        var lines = said.makeAsyncIterator()
        let line = try #require(await lines.next())
        let notice = try WireJSON.decode([String: JSONValue].self, from: Data(line.utf8))
        // A line without an id gets no response.
        #expect(notice["method"] == "server.info" && notice["id"] == nil, "\(line)")
        connection.close()
        try await listener.close()
    }

    /// A server that sends its hello after the first line from the client.
    private final class HelloAfterFirstLine: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let didReceive: (String) -> Void

        init(_ didReceive: @escaping (String) -> Void) { self.didReceive = didReceive }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            didReceive(String(buffer: unwrapInboundIn(data)))
            let hello = #"{"jsonrpc":"2.0","method":"server.hello","params":{"server":"postline","protocol":1}}"#
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: hello + "\n")), promise: nil)
        }
    }

    @Test("a flood of pushes causes backpressure, and all arrive")
    func flood() async throws {
        let count = 20_000
        let hello = #"{"jsonrpc":"2.0","method":"server.hello","params":{"server":"postline","protocol":1}}"#
        let padding = String(repeating: "x", count: 1_000)
        let lines = (0..<count).map {
            #"{"jsonrpc":"2.0","method":"server.ping","params":{"cursor":"\#($0)","padding":"\#(padding)"}}"#
        }
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        SendThenClose(([hello] + lines).joined(separator: "\n") + "\n"))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let connection = try await LineConnection.connect(to: .node(port), by: PosixConnector())
        var cursors: [String?] = []
        var most = 0
        for await push in connection.pushes {
            most = max(most, await connection.unreadPushes)
            await connection.didReadPush()
            guard case .ping(let cursor) = push else { continue }
            cursors.append(cursor)
        }
        #expect(cursors == (0..<count).map { "\($0)" })
        // Only pushes of the last read exceed the limit.
        #expect(most >= 256 && most < 2_000, "\(most)")
        try await listener.close()
    }

    @Test("refuses tokens whose user id is not a UUID")
    func strangeID() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")
        for id in ["../elsewhere", "", "guest", "a/b"] {
            #expect {
                try TokenKeeper.store(
                    Tokens(accessToken: "a", refreshToken: "r", userID: User.ID(id), isGuest: false),
                    in: FileSecretStore(folder: folder))
            } throws: { error in
                (error as? PostlineError)?.code == .malformedAnswer
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    /// A server that sends one text and closes the connection.
    private final class SendThenClose: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let text: String

        init(_ text: String) { self.text = text }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text))).whenComplete { _ in
                channel.close(promise: nil)
            }
        }
    }

    @Test("a silent server does not block disconnecting or the background")
    func silence() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                try await node.kill()
                let (accepted, accept) = AsyncStream<Void>.makeStream()
                let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelInitializer { channel in
                        accept.yield()
                        return channel.eventLoop.makeSucceededVoidFuture()
                    }.bind(host: "127.0.0.1", port: node.port).get()
                var connections = accepted.makeAsyncIterator()
                device.client.networkChanged()
                await connections.next()
                let search = Task { try await device.client.searchProfiles("bob") }
                await device.client.enterBackground()
                for search in [search, Task { try await device.client.searchProfiles("bob") }] {
                    await #expect {
                        try await search.value
                    } throws: { error in
                        (error as? PostlineError)?.code == .offline
                    }
                }
                await device.client.enterForeground()
                await connections.next()
                // The connection is closed at once, without waiting for the hello.
                let start = ContinuousClock.now
                await device.client.disconnect()
                #expect(ContinuousClock.now - start < .seconds(10))
                try await listener.close()
            }
        }
    }

    @Test("reports a server with endless pages or malformed responses")
    func endless() async throws {
        let session = #"{"user_id":"x","expires_at":"2099-01-01T00:00:00.000000Z"}"#
        let info = #"{"time":"2098-01-01T00:00:00.000000Z"}"#
        for page in [#"{"cursor":null,"more":true}"#, #"{"cursor":"c","profiles":[{"id":1}]}"#] {
            let answers = ["session.authenticate": session, "server.info": info, "sync.open": page]
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            ByteToMessageHandler(LineDecoder()), FixedAnswers(answers))
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(listener.localAddress?.port)
            try await AppDevice.with(.node(port)) { device in
                await device.client.disconnect()
                try TokenKeeper.store(
                    Tokens(accessToken: "a", refreshToken: "r", userID: .alice, isGuest: false),
                    in: FileSecretStore(folder: device.folder.appending(path: "secrets")))
                try DeviceState.set(.alice, in: device.folder)
                try await device.relaunch()
                try await device.waitUntil("the connection error") { $0.connectionError?.code == .malformedAnswer }
                #expect(device.client.account == .user(id: .alice))
            }
            try await listener.close()
        }
    }

    /// A server that sends its hello, and one fixed result for each method.
    private final class FixedAnswers: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private struct Request: Decodable {
            let id: Int
            let method: String
        }

        private let answers: [String: String]

        init(_ answers: [String: String]) { self.answers = answers }

        func channelActive(context: ChannelHandlerContext) {
            send(#"{"jsonrpc":"2.0","method":"server.hello","params":{"server":"postline","protocol":1}}"#, context)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let request = try? WireJSON.decode(Request.self, from: Data(unwrapInboundIn(data).readableBytesView))
            else { return }
            send(#"{"jsonrpc":"2.0","id":\#(request.id),"result":\#(answers[request.method] ?? "{}")}"#, context)
        }

        private func send(_ line: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: line + "\n")), promise: nil)
        }
    }

    @Test("a network change finds a dead connection")
    func otherNetwork() async throws {
        try await withDevice { _, node, device in
            try await device.signIn(.alice)
            // A working connection stays.
            device.client.networkChanged()
            _ = try await device.client.builtInAvatars()
            #expect(device.client.state == .live && device.client.connectionError == nil)
            node.command.signal(SIGSTOP)
            defer { node.command.signal(SIGCONT) }
            device.client.networkChanged()
            try await device.waitUntil("the lost connection") { $0.state != .live }
            node.command.signal(SIGCONT)
            device.client.networkChanged()
            try await device.waitUntilLive()
            #expect(device.client.connectionError == nil)
        }
    }

    @Test("row 71: a wrong device clock expires nothing early")
    func wrongClock() async throws {
        // The session uses the server's clock only.
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let connection = try await LineConnection.connect(to: .node(node.port), by: PosixConnector())
                let tokens: Tokens = try await connection.call("auth.guest", [String: String]())
                let keeper = TokenKeeper(
                    tokens: tokens,
                    secrets: FileSecretStore(
                        folder: FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")))
                let lifetime = try await keeper.authenticate(connection)
                // The server's default is an hour.
                #expect(lifetime > .seconds(3_500) && lifetime <= .seconds(3_600))
                connection.close()
            }
        }
    }

    @Test("row 71: failed renewals keep the session, and refused tokens end it")
    func refreshFails() async throws {
        try await withPrivateServer { postgres, database in
            let node = try await ServeProcess.start(database, ["--access-token-seconds", "1"])
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                // From here on each renewal fails.
                try await postgres.stop(mode: .immediate)
                try await device.waitUntil("the offline state") { if case .offline = $0.state { true } else { false } }
                try await device.relaunch()
                for _ in 0..<5 {
                    device.client.networkChanged()
                    try await device.waitUntil("another try") { $0.state == .connecting }
                    try await device.waitUntil("the failure") { if case .offline = $0.state { true } else { false } }
                    #expect(device.client.conversations.contains { $0.id == .aliceBob })
                    #expect(device.client.account == .user(id: .alice))
                }
                try await postgres.start()
                device.client.networkChanged()
                try await device.waitUntilLive()
                try await database.psql("update app.sessions set revoked_at = now() where revoked_at is null")
                try await device.waitUntil("the sign-out") {
                    if case .signedOut(_?) = $0.state { true } else { false }
                }
            }
        }
    }
}
