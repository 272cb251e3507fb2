import Crypto
import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("The webhook of held messages", .timeLimit(.minutes(10)))
struct HeldMessageWebhookTests {
    private static let secret = "a secret of the tests, of 32 bytes and more"

    /// Runs a node whose webhook is a stand-in, and which holds every message.
    private static func with(
        default fallback: String? = nil,
        _ body: @Sendable (PushStandIn, TestDatabase, TestClient, TestClient) async throws -> Void
    ) async throws {
        try await TestCertificates.with { certificates in
            try await PushStandIn.with(certificates) { standIn in
                try await TestDatabase.with { database in
                    var environment = [
                        "POSTLINE_FILTER_WEBHOOK_URL": "\(standIn.url)/held",
                        "POSTLINE_FILTER_WEBHOOK_SECRET": secret,
                        "POSTLINE_FILTER_AUTHORITIES_FILE": certificates.authorities,
                    ]
                    environment["POSTLINE_FILTER_WEBHOOK_DEFAULT"] = fallback
                    try await FilterTests.filter("add", "*", "--action", "hold", on: database)
                    let node = try await ServeProcess.start(database, environment: environment)
                    defer { node.command.signal(SIGKILL) }
                    let (alice, bob) = (try await node.connect(), try await node.connect())
                    try await alice.signIn(.alice)
                    try await bob.signIn(.bob)
                    try await bob.sync()
                    try await body(standIn, database, alice, bob)
                }
            }
        }
    }

    @Test("a signed POST has the message, and its answer decides")
    func decides() async throws {
        try await Self.with { standIn, database, alice, bob in
            standIn.answer { request in
                let content = ((try? request.json)?["message"] as? [String: Any])?["content"] as? String
                return .says(200, #"{"decision":"\#(content ?? "")"}"#)
            }
            let released = try await alice.send("release", to: Room.aliceBob)
            #expect(released["is_held"] == true)
            let request = try await standIn.received(1)[0]
            let time = try #require(request.headers["postline-timestamp"])
            var code = HMAC<SHA256>(key: SymmetricKey(data: Data(Self.secret.utf8)))
            code.update(data: Data("\(time).".utf8))
            code.update(data: request.body)
            let signature = code.finalize().map { String(format: "%02x", $0) }.joined()
            #expect(request.headers["postline-signature"] == "v1=\(signature)")
            #expect(request.headers["postline-delivery"] == released["id"]?.stringValue)
            #expect(try request.json["type"] as? String == "message")
            #expect(try request.json["words"] as? [String] == ["*"])
            let message = try #require(try request.json["message"] as? [String: Any])
            #expect(Set(message.keys) == Set(Shape.message + ["is_held"]))
            #expect(message["sender_id"] as? String == Person.alice.id)
            try await bob.follow("the released message") {
                $0.messages[Room.aliceBob]?.values.contains { $0["content"] == "release" } == true
            }
            let rejected = try await alice.send("reject", to: Room.aliceBob)["seq"]?.integerValue ?? 0
            try await bob.follow("the rejected message") {
                $0.messages[Room.aliceBob]?[Int(rejected)]?["version"] == 3
            }
            #expect(await bob.state.messages[Room.aliceBob]?[Int(rejected)]?["content"] == .null)
            try await alice.send("hold", to: Room.aliceBob)
            _ = try await standIn.received(3)
            try await database.wait(for: "select count(*) from app.held_messages where ask_at is null", toBe: "1")
            #expect(try await database.value("select content from app.held_messages") == "hold")
            #expect(standIn.requests.count == 3)
        }
    }

    @Test(
        "without a valid answer the default decides",
        arguments: [
            (nil, PushStandIn.Answer.silence, "held"), ("hold", .says(503), "held"), ("release", .silence, "3"),
            ("release", .says(200, "yes"), "3"), ("reject", .says(200, #"{"decision":"maybe"}"#), "3 deleted"),
            ("reject", .half, "3 deleted"), ("release", .says(302, #"{"decision":"reject"}"#), "3"),
        ] as [(String?, PushStandIn.Answer, String)])
    func falls(_ fallback: String?, _ answer: PushStandIn.Answer, _ outcome: String) async throws {
        try await Self.with(default: fallback) { standIn, database, alice, _ in
            standIn.answer { _ in answer }
            let id = try await alice.send("Hello", to: Room.aliceBob)["id"]?.stringValue ?? ""
            try await database.wait(
                for: """
                    select coalesce((
                               select 'held' from app.held_messages h where h.message_id = m.id and h.ask_at is null),
                               concat_ws(' ', nullif(m.version, 1),
                                         case when m.deleted_at is not null and m.version > 1 then 'deleted' end))
                      from public.messages m where m.id = '\(id)'
                    """, toBe: outcome)
            #expect(standIn.requests.count == 1)
        }
    }

    @Test(
        "a wrong setting is refused with its name",
        arguments: [
            (["POSTLINE_FILTER_WEBHOOK_URL": "https://example.com"], "POSTLINE_FILTER_WEBHOOK_SECRET"),
            (["POSTLINE_FILTER_WEBHOOK_SECRET": secret], "POSTLINE_FILTER_WEBHOOK_URL"),
            (["POSTLINE_FILTER_WEBHOOK_DEFAULT": "ask"], "POSTLINE_FILTER_WEBHOOK_DEFAULT must be one of hold"),
        ])
    func settings(_ environment: [String: String], _ name: String) async throws {
        let given = [
            "POSTLINE_DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
            "POSTLINE_JWT_SECRET": Self.secret,
        ].merging(environment) { $1 }
        let run = try await Command.run(["serve"], environment: given)
        #expect(run.status != 0)
        #expect(run.errors.contains(name), "\(run.errors)")
    }
}
