import Crypto
import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("The webhook of reports", .timeLimit(.minutes(10)))
struct ReportWebhookTests {
    private static let secret = "a secret of the tests, of 32 bytes and more"

    @Test("one of two nodes posts each report, signed and without content, and repeats it until it is accepted")
    func posts() async throws {
        try await TestCertificates.with { certificates in
            try await PushStandIn.with(certificates) { standIn in
                try await TestDatabase.with { database in
                    standIn.answer { _ in standIn.requests.count == 1 ? .says(503) : .says(202) }
                    let environment = [
                        "POSTLINE_REPORT_WEBHOOK_URL": "\(standIn.url)/reports",
                        "POSTLINE_REPORT_WEBHOOK_SECRET": Self.secret,
                        "POSTLINE_REPORT_AUTHORITIES_FILE": certificates.authorities,
                        "POSTLINE_CONTACT_URL": "mailto:safety@example.com",
                    ]
                    let node = try await ServeProcess.start(database, environment: environment)
                    defer { node.command.signal(SIGKILL) }
                    let other = try await ServeProcess.start(database, environment: environment)
                    defer { other.command.signal(SIGKILL) }
                    let alice = try await node.connect()
                    try await alice.signIn(.alice)
                    #expect(try await alice.call("server.info")["contact"] == "mailto:safety@example.com")
                    let id = try await alice.call(
                        "reports.create",
                        ["user_id": .string(Person.bob.id), "reason": "spam", "comment": "not for the webhook"])["id"]
                    let request = try await standIn.received(2)[1]
                    let time = try #require(request.headers["postline-timestamp"])
                    var code = HMAC<SHA256>(key: SymmetricKey(data: Data(Self.secret.utf8)))
                    code.update(data: Data("\(time).".utf8))
                    code.update(data: request.body)
                    let signature = code.finalize().map { String(format: "%02x", $0) }.joined()
                    #expect(request.headers["postline-signature"] == "v1=\(signature)")
                    #expect(try request.json["type"] as? String == "report")
                    let report = try #require(try request.json["report"] as? [String: Any])
                    #expect(report["id"] as? String == id?.stringValue)
                    #expect(request.headers["postline-delivery"] == id?.stringValue)
                    #expect(report["reported_id"] as? String == Person.bob.id && report["reason"] as? String == "spam")
                    #expect(report["comment"] == nil && report["evidence"] == nil)
                    try await database.wait(
                        for: "select count(*) from app.reports where notify_at is not null", toBe: "0")
                    #expect(standIn.requests.count == 2)
                }
            }
        }
    }

    @Test(
        "a wrong setting is refused with its name",
        arguments: [
            (["POSTLINE_REPORT_WEBHOOK_URL": "https://example.com"], "POSTLINE_REPORT_WEBHOOK_SECRET"),
            (["POSTLINE_REPORT_WEBHOOK_SECRET": secret], "POSTLINE_REPORT_WEBHOOK_URL"),
            (["POSTLINE_CONTACT_URL": "http://example.com"], "POSTLINE_CONTACT_URL must be an https: or mailto: URL"),
            (["POSTLINE_CONTACT_URL": "mailto:nobody"], "POSTLINE_CONTACT_URL must be an https: or mailto: URL"),
            (["POSTLINE_REPORT_RETENTION_DAYS": "0"], "POSTLINE_REPORT_RETENTION_DAYS"),
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
