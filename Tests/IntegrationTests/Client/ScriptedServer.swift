import Foundation
import LineClient
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

@testable import Postline

/// A server with scripted responses that records the requests, for cases that are rare with a real server.
///
/// By default Alice has one conversation, with Bob.
final class ScriptedServer: Sendable {
    private struct State {
        var answers: [String: [String]]
        var calls: [(method: String, params: [String: JSONValue])] = []
        var channels: [any Channel] = []
    }

    private let state: NIOLockedValueBox<State>
    private let listener: any Channel

    var port: Int { listener.localAddress?.port ?? 0 }

    /// Runs a server for the duration of `body`.
    ///
    /// - Parameter answers: The results by method, as JSON. `error:CODE` sends an error, `silence` sends nothing.
    static func with<Value: Sendable>(
        answers: [String: String] = [:],
        _ body: @MainActor (ScriptedServer) async throws -> Value
    ) async throws -> Value {
        let state = NIOLockedValueBox(State(answers: defaultResults.merging(answers) { $1 }.mapValues { [$0] }))
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(LineDecoder()), RequestHandler(state: state))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let server = ScriptedServer(state, listener)
        do {
            let value = try await body(server)
            try await listener.close()
            return value
        } catch {
            try? await listener.close()
            throw error
        }
    }

    private init(_ state: NIOLockedValueBox<State>, _ listener: any Channel) {
        self.state = state
        self.listener = listener
    }

    /// Returns the params of each call of a method, in order.
    func calls(_ method: String) -> [[String: JSONValue]] {
        state.withLockedValue { $0.calls.filter { $0.method == method }.map(\.params) }
    }

    /// Sets the results of a method: each is sent once, and the last one from then on.
    func answer(_ method: String, _ results: String...) { state.withLockedValue { $0.answers[method] = results } }

    /// Sends a notification to all connections.
    func push(_ method: String, _ params: String) {
        let line = #"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"# + "\n"
        for channel in state.withLockedValue({ $0.channels }) {
            channel.writeAndFlush(ByteBuffer(string: line), promise: nil)
        }
    }

    private static let time = #""2026-11-20T10:00:00.000000Z""#

    private static func profile(_ person: Person) -> String {
        """
        "id":"\(person.id)","username":"\(person.rawValue)","full_name":"\(person.rawValue.capitalized)","bio":null,\
        "avatar_type":null,"avatar_id":null,"avatar_url":null,"website":null,"location":null,"language_code":null,\
        "is_verified":false,"is_guest":false,"is_deleted":false,"attributes":{},"version":1,"created_at":\(time),\
        "updated_at":\(time)
        """
    }

    /// Returns a conversation of Alice and Bob, with additional JSON members.
    static func conversation(_ members: String = "", lastSeq: Int = 0, lastReadSeq: Int = 0) -> String {
        let people = [Person.alice, .bob].map {
            #"{"user_id":"\#($0.id)","role":"member","joined_at":\#(time),"last_read_seq":0}"#
        }
        return """
            {"id":"\(Room.aliceBob)","kind":"direct","title":null,"created_by":null,"members":\
            [\(people.joined(separator: ","))],"last_seq":\(lastSeq),"version":1,"last_message_content":null,"last_message_time":null,"last_message_sender_id":null,\
            "last_read_seq":\(lastReadSeq),"unread_count":0,"created_at":\(time),"updated_at":\(time)\(members)}
            """
    }

    /// Returns a message of Bob, or another user, with additional JSON members.
    static func message(
        _ seq: Int, _ members: String = "", from sender: Person = .bob, version: Int = 1, content: String = "text"
    ) -> String {
        """
        {"id":"00000000-0000-4000-8000-00000000000\(seq)","conversation_id":"\(Room.aliceBob)","seq":\(seq),\
        "sender_id":"\(sender.id)","client_id":null,"kind":"text","content":"\(content)","attachment":null,\
        "version":\(version),"created_at":\(time),"edited_at":null,"deleted_at":null\(members)}
        """
    }

    private static let defaultResults: [String: String] = [
        "auth.login": """
        {"access_token":"a","refresh_token":"r","user_id":"\(Person.alice.id)","is_guest":false}
        """,
        "session.authenticate": """
        {"user_id":"\(Person.alice.id)","session_id":"s","expires_at":"2099-01-01T00:00:00.000000Z"}
        """,
        "server.info": #"{"time":"2098-01-01T00:00:00.000000Z"}"#,
        "presence.get": #"{"presence":[]}"#,
        "sync.open": """
        {"cursor":"c","reset":true,"more":false,"me":{\(profile(.alice)),"email":"alice@example.com",\
        "phone_number":null,"phone_verified":false,"date_of_birth":null,"preferred_unit_system":"metric",\
        "preferences":{},"physical":{"biological_sex":null,"height_cm":null,"date_of_birth":null},\
        "username_changed_at":null,"username_change_count":0,"username_change_allowed_at":null},\
        "profiles":[{\(profile(.bob))}],"conversations":[\(conversation())]}
        """,
    ]

    /// A handler that sends the hello and the scripted responses.
    private final class RequestHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private struct Request: Decodable {
            /// Nil for a notification.
            let id: Int?
            let method: String
            let params: [String: JSONValue]
        }

        private let state: NIOLockedValueBox<State>

        init(state: NIOLockedValueBox<State>) { self.state = state }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            state.withLockedValue { $0.channels.append(channel) }
            send(
                #"{"jsonrpc":"2.0","method":"server.hello","params":{"server":"postline","protocol":1}}"#, context)
        }

        func channelInactive(context: ChannelHandlerContext) {
            let channel = context.channel
            state.withLockedValue { $0.channels.removeAll { $0 === channel } }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let request = try? WireJSON.decode(Request.self, from: Data(unwrapInboundIn(data).readableBytesView))
            else { return }
            let result = state.withLockedValue { state in
                state.calls.append((request.method, request.params))
                guard let answers = state.answers[request.method], let next = answers.first else { return "{}" }
                if answers.count > 1 { state.answers[request.method]?.removeFirst() }
                return next
            }
            guard let id = request.id, result != "silence" else { return }
            guard result.hasPrefix("error:") else {
                return send(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#, context)
            }
            let code = result.dropFirst(6)
            let isRetryable = ["unavailable", "rate_limited"].contains(code)
            send(
                #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32000,"message":"No.","data":{"code":"\#(code)","retryable":\#(isRetryable)}}}"#,
                context)
        }

        private func send(_ line: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(NIOAny(ByteBuffer(string: line + "\n")), promise: nil)
        }
    }
}
