import BoundedWait
import Crypto
import Foundation
import LineClient
import Outbox
import Testing
@testable import WireProtocol

@Suite("Mails", .timeLimit(.minutes(20)))
struct MailTests {
    @Test("sends a mail in the user's language over STARTTLS with sign-in")
    func sent() async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue()
            try await MailServer.with(
                .required, certificates: certificates, user: "postline", password: "a password"
            ) { server in
                try await Self.with(
                    server, host: "localhost",
                    [
                        "POSTLINE_MAIL_SMTP_USER": "postline", "POSTLINE_MAIL_SMTP_PASSWORD": "a password",
                        "POSTLINE_MAIL_SMTP_TLS": "on", "POSTLINE_MAIL_FROM": "Grüße <chat@example.com>",
                        "POSTLINE_MAIL_AUTHORITIES_FILE": certificates.authorities,
                        "POSTLINE_MAIL_LINK_URL": "https://app.example.com/account",
                    ]
                ) { database, node in
                    let client = try await node.connect()
                    try await client.register("Jun", email: "jun@example.com")
                    let first = try await server.mails(1)[0]
                    #expect(first.to == "jun@example.com" && first.sender == "chat@example.com")
                    #expect(first.encrypted == true && first.user == "postline")
                    let headers = first.headers
                    #expect(headers["to"] == "jun@example.com")
                    #expect(headers["from"] == "=?utf-8?B?R3LDvMOfZQ==?= <chat@example.com>")
                    #expect(headers["subject"] == "Confirm your email address")
                    #expect(headers["message-id"]?.hasSuffix("@example.com>") == true)
                    #expect(headers["content-type"] == "text/plain; charset=utf-8")
                    #expect(headers["auto-submitted"] == "auto-generated")
                    let token = try #require(first.token)
                    let link = "https://app.example.com/account#kind=confirm_email&token=\(token)"
                    #expect(first.text.contains("\r\n\r\n\(link)\r\n\r\n"))
                    #expect(
                        try #require(headers["date"]).wholeMatch(of: /\w{3}, \d+ \w{3} \d{4} [\d:]{8} \+0000/) != nil)

                    _ = try await client.call("me.update", ["language_code": "ja-JP"])
                    _ = try await client.call("auth.request_password_reset", ["email": "Jun@Example.com"])
                    let second = try await server.mails(2)[1]
                    #expect(second.headers["subject"] == "=?utf-8?B?44OR44K544Ov44O844OJ44Gu5YaN6Kit5a6a?=")
                    #expect(second.headers["content-transfer-encoding"] == "quoted-printable")
                    #expect(second.text.contains("Grüße のアカウントの新しいパスワード"))
                    #expect(second.text.contains("#kind=reset_password&token=\(try #require(second.token))"))
                    #expect(
                        try #require(second.data).components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
                    try await database.wait(for: "select count(*) from app.mails", toBe: "0")
                    try await eventually("the mail to be counted") {
                        try await node.metrics()[#"postline_mails_total{kind="reset_password",outcome="accepted"}"#]
                            == 1
                    }
                }
            }
        }
    }

    @Test("sends over implicit TLS")
    func encrypted() async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue()
            try await MailServer.with(.always, certificates: certificates) { server in
                try await Self.with(
                    server, scheme: "smtps", host: "localhost",
                    ["POSTLINE_MAIL_AUTHORITIES_FILE": certificates.authorities]
                ) { _, node in
                    try await node.connect().register("Ida", email: "ida@example.com")
                    #expect(try await server.mails(1)[0].encrypted == true)
                }
            }
        }
    }

    @Test(
        "row 68: retries deferred mails and abandons rejected ones",
        arguments: [
            ("greylisted", true, "451 4.7.1"), ("lost", true, ""), ("slow", true, nil),
            ("refused", false, "550 5.1.1 there is nobody"), ("rejected", false, "554 5.7.1 this is not"),
            ("quoting", false, "550 5.1.1 <quoting@example.com>"),
        ])
    func answers(_ name: String, _ isSent: Bool, _ error: String?) async throws {
        try await MailServer.with { server in
            try await Self.with(server) { database, node in
                try await node.connect().register("Sam", email: "\(name)@example.com")
                if let error {
                    try await database.wait(
                        for: "select last_error like '\(error)%' and attempts = 1 from app.mails", toBe: "t")
                }
                if isSent {
                    // Make deferred mails due now.
                    try await database.psql("update app.mails set due_at = now() where last_error is not null")
                    let mail = try await server.mails(1)[0]
                    #expect(mail.to == "\(name)@example.com")
                    try await database.wait(for: "select count(*) from app.mails", toBe: "0")
                    #expect(server.mails().count == 1)
                    _ = try await node.connect().call(
                        "auth.confirm_email", ["token": .string(try #require(mail.token))])
                } else {
                    try await database.wait(for: "select due_at is null from app.mails", toBe: "t")
                    #expect(server.mails().isEmpty)
                }
                #expect(try await !node.stop().contains("\(name)@example"))
            }
        }
    }

    /// A reason to send no mail to a server.
    enum ServerFlaw: CaseIterable {
        case noTLS, untrustedCertificate, wrongHostName, wrongPassword, noService, rejectedSender
    }

    @Test(
        "row 68: sends nothing to a server without valid TLS or sign-in",
        arguments: ServerFlaw.allCases)
    func untrusted(flaw: ServerFlaw) async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue(for: flaw == .wrongHostName ? "other.example.com" : "localhost")
            let trusted = [
                "POSTLINE_MAIL_SMTP_TLS": "on", "POSTLINE_MAIL_AUTHORITIES_FILE": certificates.authorities,
            ]
            switch flaw {
            case .noTLS: try await Self.isNotSent(["POSTLINE_MAIL_SMTP_TLS": "on"], .never, nil)
            case .untrustedCertificate:
                try await Self.isNotSent(["POSTLINE_MAIL_SMTP_TLS": "on"], .offered, certificates)
            case .wrongHostName: try await Self.isNotSent(trusted, .offered, certificates)
            case .wrongPassword:
                let signedIn = ["POSTLINE_MAIL_SMTP_USER": "postline", "POSTLINE_MAIL_SMTP_PASSWORD": "a password"]
                try await Self.isNotSent(
                    trusted.merging(signedIn) { $1 }, .required, certificates, user: "postline",
                    password: "another password")
            case .noService: try await Self.isNotSent([:], .never, nil, greeting: "554 no service for you")
            case .rejectedSender:
                try await Self.isNotSent([:], .never, nil, sender: "550 5.7.1 you do not send from here")
            }
        }
    }

    private static func isNotSent(
        _ settings: [String: String], _ encryption: MailServer.Encryption, _ certificates: TestCertificates?,
        user: String? = nil, password: String? = nil, greeting: String? = nil, sender: String? = nil
    ) async throws {
        try await MailServer.with(
            encryption, certificates: certificates, user: user, password: password, greeting: greeting, sender: sender
        ) { server in
            try await Self.with(server, host: "localhost", settings) { database, node in
                try await node.connect().register("Uma", email: "uma@example.com")
                // The mail waits until the operator corrects the settings.
                try await database.wait(
                    for: "select last_error <> '' and due_at > now() from app.mails", toBe: "t")
                #expect(server.received.allSatisfy { $0.event == "serving" }, "\(settings)")
            }
        }
    }

    @Test("row 68: resends a mail after the server or node was killed")
    func killed() async throws {
        try await TestDatabase.with { database in
            let port = try await unusedPort()
            try await MailServer.with(port: port) { server in
                let node = try await Self.node(database, server)
                defer { node.command.signal(SIGKILL) }
                try await node.connect().register("Sue", email: "slow@example.com")
                try await eventually("the mail to be begun") { server.received.count >= 2 }
                server.command.signal(SIGKILL)
                try await database.wait(for: "select last_error <> '' from app.mails", toBe: "t")
            }
            try await MailServer.with(port: port) { server in
                let first = try await Self.node(database, server)
                defer { first.command.signal(SIGKILL) }
                let second = try await Self.node(database, server)
                defer { second.command.signal(SIGKILL) }
                try await database.psql("update app.mails set due_at = now()")
                try await eventually("the mail to be begun") { server.received.count >= 2 }
                // Either node may have it; the other does not matter.
                try await first.kill()
                try await database.psql("update app.mails set due_at = least(due_at, now())")
                let mails = try await server.mails(1)
                #expect(mails[0].to == "slow@example.com")
                try await database.wait(for: "select count(*) from app.mails", toBe: "0")
                #expect(Set(server.mails().map { $0.headers["message-id"] }).count == 1)
            }
        }
    }

    @Test("sends each of many mails once over two nodes")
    func many() async throws {
        try await MailServer.with { server in
            try await TestDatabase.with { database in
                try await database.psql(
                    """
                    insert into app.mails (kind, email, user_id)
                    select 'email_changed', 'many' || n || '@example.com', '\(Person.bob.id)'
                      from generate_series(1, 60) n
                    """)
                let first = try await Self.node(database, server)
                defer { first.command.signal(SIGKILL) }
                let second = try await Self.node(database, server)
                defer { second.command.signal(SIGKILL) }
                let mails = try await server.mails(60)
                try await database.wait(for: "select count(*) from app.mails", toBe: "0")
                #expect(Set(mails.map(\.to)).count == 60 && server.mails().count == 60)
                #expect(mails.allSatisfy { $0.token == nil })
                #expect(Set(mails.map { $0.headers["subject"] }) == ["Your email address was changed"])
            }
        }
    }

    @Test("posts signed mails to a webhook and follows its status")
    func webhook() async throws {
        let secret = "a secret of the tests, of 32 bytes and more"
        try await TestCertificates.with { certificates in
            try await PushStandIn.with(certificates) { standIn in
                try await TestDatabase.with { database in
                    standIn.answer { _ in standIn.requests.count == 1 ? .says(503) : .says(202) }
                    let node = try await ServeProcess.start(
                        database,
                        environment: [
                            "POSTLINE_MAIL_WEBHOOK_URL": "\(standIn.url)/mails", "POSTLINE_MAIL_WEBHOOK_SECRET": secret,
                            "POSTLINE_MAIL_FROM": "chat@example.com",
                            "POSTLINE_MAIL_AUTHORITIES_FILE": certificates.authorities,
                            "POSTLINE_MAIL_LINK_URL": "https://app.example.com/{kind}?token={token}",
                        ])
                    defer { node.command.signal(SIGKILL) }
                    let tokens = try await node.connect().register("Wim", email: "wim@example.com")
                    _ = try await standIn.received(1)
                    try await database.wait(for: "select last_error like '503%' from app.mails", toBe: "t")
                    try await database.psql("update app.mails set due_at = now()")
                    let request = try await standIn.received(2)[1]
                    let time = try #require(request.headers["postline-timestamp"])
                    var code = HMAC<SHA256>(key: SymmetricKey(data: Data(secret.utf8)))
                    code.update(data: Data("\(time).".utf8))
                    code.update(data: request.body)
                    let signature = code.finalize().map { String(format: "%02x", $0) }.joined()
                    #expect(request.headers["postline-signature"] == "v1=\(signature)")
                    #expect(try request.json["type"] as? String == "mail")
                    let mail = try #require(try request.json["mail"] as? [String: String])
                    #expect(mail["kind"] == "confirm_email" && mail["email"] == "wim@example.com")
                    #expect(mail["user_id"] == tokens["user_id"]?.stringValue)
                    #expect(mail["id"] == request.headers["postline-delivery"])
                    let token = try #require(mail["token"])
                    #expect(mail["link"] == "https://app.example.com/confirm_email?token=\(token)")
                    #expect(mail["text"]?.contains(mail["link"] ?? "-") == true)
                    try await database.wait(for: "select count(*) from app.mails", toBe: "0")
                    _ = try await node.connect().call("auth.confirm_email", ["token": .string(token)])
                }
            }
        }
    }

    @Test("writes a file per mail, readable only by its owner")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-mail-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(
                database,
                environment: [
                    "POSTLINE_MAIL_DIR": folder.path, "POSTLINE_MAIL_FROM": "Chat <chat@example.com>",
                ])
            defer { node.command.signal(SIGKILL) }
            try await node.connect().register("Fay", email: "fay@example.com")
            try await database.wait(for: "select count(*) from app.mails", toBe: "0")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.count == 1 && names[0].contains("-confirm_email-") && names[0].hasSuffix(".eml"))
            let path = folder.appending(path: names[0]).path
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains("From: \"Chat\" <chat@example.com>\r\nTo: fay@example.com\r\n"))
        }
    }

    @Test("checks the mail server without sending a mail")
    func asked() async throws {
        let from = try #require(MailAddress("chat@example.com"))
        try await MailServer.with { server in
            let url = "smtp://127.0.0.1:\(server.port)"
            #expect(await Mailer.check(MailSettings(.smtp(.init(url: url, needsTLS: false)), from: from)) == nil)
            let flaw = await Mailer.check(MailSettings(.smtp(.init(url: url)), from: from))
            #expect(flaw?.isEmpty == false)
            #expect(server.received.count == 1)
        }
        let gone = await Mailer.check(
            MailSettings(.smtp(.init(url: "smtp://127.0.0.1:1", needsTLS: false)), from: from))
        #expect(gone?.isEmpty == false)
        #expect(await Mailer.check(MailSettings(.folder("/proc/nowhere"), from: from)) != nil)
    }
}

extension MailTests {
    /// Starts a node that sends through the server.
    static func node(
        _ database: TestDatabase, _ server: MailServer, scheme: String = "smtp", host: String = "127.0.0.1",
        _ settings: [String: String] = [:]
    ) async throws -> ServeProcess {
        let standard = [
            "POSTLINE_MAIL_SMTP_URL": "\(scheme)://\(host):\(server.port)", "POSTLINE_MAIL_SMTP_TLS": "off",
            "POSTLINE_MAIL_FROM": "Chat <chat@example.com>", "POSTLINE_LOG_LEVEL": "debug",
        ]
        return try await ServeProcess.start(database, environment: standard.merging(settings) { $1 })
    }

    /// Runs a node on a new database.
    static func with(
        _ server: MailServer, scheme: String = "smtp", host: String = "127.0.0.1", _ settings: [String: String] = [:],
        _ body: @Sendable (TestDatabase, ServeProcess) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let node = try await Self.node(database, server, scheme: scheme, host: host, settings)
            defer { node.command.signal(SIGKILL) }
            try await body(database, node)
        }
    }
}
