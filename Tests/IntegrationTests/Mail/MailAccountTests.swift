import Accounts
import BoundedWait
import Foundation
import LineClient
import Logging
@testable import Messaging
import Outbox
@testable import Postgres
import TestSupport
import Testing
@testable import WireProtocol

/// Account operations confirmed by a token in a mail.
@Suite("Accounts by mail", .timeLimit(.minutes(20)))
struct MailAccountTests {
    private static func with(
        _ change: (inout NodeSettings) -> Void = { _ in }, _ body: @Sendable (TestNode, MailServer) async throws -> Void
    ) async throws {
        var settings = NodeSettings()
        change(&settings)
        try await MailServer.with { [settings] server in
            var settings = settings
            settings.mail = MailSettings(
                .smtp(.init(url: "smtp://127.0.0.1:\(server.port)", needsTLS: false)),
                from: try #require(MailAddress("Chat <chat@example.com>")))
            try await withNode(settings) { try await body($0, server) }
        }
    }

    private static func token(_ mail: MailServer.Received) throws -> JSONObject {
        ["token": .string(try #require(mail.token))]
    }

    private static func reset(_ mail: MailServer.Received, to password: String) throws -> JSONObject {
        ["token": .string(try #require(mail.token)), "password": .string(password)]
    }

    private static func proof(of email: String, on node: TestNode) async throws -> String? {
        try await node.database.value(
            "select (email_confirmed_at is not null) || ' ' || app.is_proven(u) from auth.users u where email = '\(email)'"
        )
    }

    @Test("confirms an address only by the token of its mail")
    func confirmed() async throws {
        try await Self.with { node, server in
            let client = try await node.connect()
            try await client.register("Ann", email: "ann@example.com")
            #expect(try await Self.proof(of: "ann@example.com", on: node) == "false false")
            let mail = try await server.mails(1, to: "ann@example.com")[0]
            // Confirming requires no sign-in and does not sign in.
            let stranger = try await node.connect()
            let token = try Self.token(mail)
            #expect(try await stranger.call("auth.confirm_email", token) == ["email": "ann@example.com"])
            try await stranger.refused(.unauthenticated, "me.get")
            #expect(try await Self.proof(of: "ann@example.com", on: node) == "true true")
            // The same holds for the address of an upgraded guest.
            let guest = try await node.guest("Gus")
            _ = try await guest.call(
                "auth.upgrade", ["email": "gus@example.com", "password": .string(TestNode.password)])
            #expect(try await Self.proof(of: "gus@example.com", on: node) == "false false")
            let own = try await server.mails(1, to: "gus@example.com")[0]
            _ = try await guest.call("auth.confirm_email", try Self.token(own))
            #expect(try await Self.proof(of: "gus@example.com", on: node) == "true true")
            try await node.connect().refused(.emailTaken, "auth.register", Self.registration("gus@example.com"))
        }
    }

    private static func registration(_ email: String) -> JSONObject {
        ["email": .string(email), "password": .string(TestNode.password), "full_name": "Somebody"]
    }

    @Test("resets a password by mail and ends all other sessions")
    func reset() async throws {
        try await Self.with { node, server in
            let elsewhere = try await node.signedIn(.bob)
            let client = try await node.connect()
            #expect(try await client.call("auth.request_password_reset", ["email": "BOB@example.com"]) == [:])
            let mail = try await server.mails(1, to: "bob@example.com")[0]
            let tokens = try await client.call("auth.reset_password", try Self.reset(mail, to: "another password"))
            #expect(tokens["user_id"] == .string(Person.bob.id))
            #expect(try await client.call("me.get")["username"] == "bob")
            try await eventually("the other session to end") { (try? await elsewhere.call("me.get")) == nil }
            let again = try await node.connect()
            try await again.refused(
                .invalidCredentials, "auth.login",
                ["email": "bob@example.com", "password": .string(TestNode.password)])
            try await again.logIn("bob@example.com", password: "another password")
            #expect(try await Self.proof(of: "bob@example.com", on: node) == "true true")
            // On a connection that is already signed in, the session is replaced.
            _ = try await again.call("auth.request_password_reset", ["email": "bob@example.com"])
            let next = try await server.mails(2, to: "bob@example.com")[1]
            _ = try await again.call("auth.reset_password", try Self.reset(next, to: "a third password"))
            #expect(try await again.call("me.get")["username"] == "bob")
            let open = try await node.database.value(
                "select count(*) from app.sessions where user_id = '\(Person.bob.id)' and revoked_at is null")
            #expect(open == "1")
        }
    }

    @Test(
        "changes an address by a mail to the new one, and notifies the old",
        .covers("B9"))
    func changed() async throws {
        try await Self.with { node, server in
            let client = try await node.signedIn(.carol)
            try await client.sync()
            let request: JSONObject = ["email": "Carol.New@example.com", "password": .string(TestNode.password)]
            #expect(try await client.call("auth.request_email_change", request) == [:])
            let mail = try await server.mails(1, to: "carol.new@example.com")[0]
            #expect(mail.headers["subject"] == "Confirm your new email address")
            #expect(try await client.call("me.get")["email"] == "carol@example.com")
            try await node.connect().logIn("carol@example.com")
            let confirmed = try await node.connect().call("auth.confirm_email", try Self.token(mail))
            #expect(confirmed == ["email": "carol.new@example.com"])
            try await client.follow { $0.me?["email"] == "carol.new@example.com" }
            let notice = try await server.mails(1, to: "carol@example.com")[0]
            #expect(notice.headers["subject"] == "Your email address was changed" && notice.token == nil)
            #expect(!notice.text.contains("carol.new"))
            try await node.connect().logIn("carol.new@example.com")
            try await node.connect().refused(
                .invalidCredentials, "auth.login",
                ["email": "carol@example.com", "password": .string(TestNode.password)])
            #expect(try await Self.proof(of: "carol.new@example.com", on: node) == "true true")

            // The change requires the password and a valid, different address.
            try await client.refused(
                .invalidCredentials, "auth.request_email_change", ["email": "x@example.com", "password": "wrong"])
            try await client.refused(
                .invalidParams, "auth.request_email_change",
                ["email": "no address", "password": .string(TestNode.password)], field: "email")
            try await client.refused(
                .invalidParams, "auth.request_email_change",
                ["email": "carol.new@example.com", "password": .string(TestNode.password)], field: "email")
            try await node.guest().refused(.forbidden, "auth.request_email_change", request)
            // An address in use gets the same response and no mail; an address taken meanwhile is not moved.
            #expect(
                try await client.call(
                    "auth.request_email_change",
                    ["email": "dave@example.com", "password": .string(TestNode.password)]) == [:])
            try await node.database.wait(for: "select count(*) from app.mails", toBe: "0")
            #expect(server.mails(to: "dave@example.com").isEmpty)
            _ = try await client.call(
                "auth.request_email_change", ["email": "late@example.com", "password": .string(TestNode.password)])
            let late = try await server.mails(1, to: "late@example.com")[0]
            try await node.connect().register("Lee", email: "late@example.com")
            try await node.connect().refused(.emailTaken, "auth.confirm_email", try Self.token(late))
            #expect(try await client.call("me.get")["email"] == "carol.new@example.com")
        }
    }

    @Test("refuses sign-in until the address is confirmed, if required")
    func waits() async throws {
        try await Self.with({ $0.signInNeedsConfirmedEmail = true }) { node, server in
            let client = try await node.connect()
            try await client.refused(.emailUnconfirmed, "auth.register", Self.registration("wanda@example.com"))
            let login: JSONObject = ["email": "wanda@example.com", "password": .string(TestNode.password)]
            try await client.refused(.emailUnconfirmed, "auth.login", login)
            // With a wrong password the error does not reveal it.
            try await client.refused(
                .invalidCredentials, "auth.login", ["email": "wanda@example.com", "password": "wrong"])
            let mail = try await server.mails(1, to: "wanda@example.com")[0]
            _ = try await client.call("auth.confirm_email", try Self.token(mail))
            try await client.logIn("wanda@example.com")
            // Existing accounts are unaffected; guests need no confirmation and stay signed in when they upgrade.
            try await node.connect().logIn("alice@example.com")
            let guest = try await node.guest()
            _ = try await guest.call(
                "auth.upgrade", ["email": "gil@example.com", "password": .string(TestNode.password)])
            _ = try await guest.call("me.get")
            try await node.connect().refused(
                .emailUnconfirmed, "auth.login", ["email": "gil@example.com", "password": .string(TestNode.password)])
            // A password reset by mail confirms the address.
            _ = try await client.call("auth.request_password_reset", ["email": "gil@example.com"])
            try await eventually("the reset mail") {
                server.mails(to: "gil@example.com").contains(where: { $0.headers["subject"] == "Set a new password" })
            }
            let reset = try #require(
                server.mails(to: "gil@example.com").first { $0.headers["subject"] == "Set a new password" })
            _ = try await node.connect().call("auth.reset_password", try Self.reset(reset, to: "another password"))
            try await node.connect().logIn("gil@example.com", password: "another password")
        }
    }

    @Test("row 68: rejects guessed, used, expired, foreign and voided tokens")
    func tokens() async throws {
        try await Self.with { node, server in
            let client = try await node.connect()
            var refusals: Set<String> = []
            func isRefused(_ method: String, _ params: JSONObject) async throws {
                try await client.refused(.invalidToken, method, params, field: "token")
                refusals.insert(try await client.answerText(method, .object(params)).replacing(/"id":[^,}]*/, with: ""))
            }
            /// Requests a reset, and returns the newest mail to Dave.
            @Sendable func requestReset(_ count: Int) async throws -> MailServer.Received {
                _ = try await client.call("auth.request_password_reset", ["email": "dave@example.com"])
                return try await server.mails(count, to: "dave@example.com")[count - 1]
            }
            // Guessed tokens.
            for guess in ["", "0", String(repeating: "0", count: 64), "'; drop table app.mail_tokens; --", "\u{1F511}"]
            {
                try await isRefused("auth.reset_password", ["token": .string(guess), "password": "new password"])
                try await isRefused("auth.confirm_email", ["token": .string(guess)])
            }
            // A token of another kind, or with a character more or less.
            let first = try await requestReset(1)
            let token = try #require(first.token)
            try await isRefused("auth.confirm_email", ["token": .string(token)])
            for near in [String(token.dropLast()), token + "0", token.uppercased()] where near != token {
                try await isRefused("auth.reset_password", ["token": .string(near), "password": "new password"])
            }
            // Another user's token is rejected on Alice's connection and does not change her account.
            let alice = try await node.signedIn(.alice)
            try await alice.refused(.invalidRequest, "auth.reset_password", try Self.reset(first, to: "new password"))
            try await node.connect().logIn("alice@example.com")
            try await node.connect().logIn("dave@example.com")
            // An expired token.
            try await node.database.setClock(ahead: "61 minutes")
            try await isRefused("auth.reset_password", try Self.reset(first, to: "new password"))
            // A used token: one of eight concurrent uses succeeds.
            let second = try await requestReset(2)
            let used = try Self.reset(second, to: "a new password")
            let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            _ = try await node.connect().call("auth.reset_password", used)
                            return true
                        } catch let error as RemoteError {
                            #expect(error.code == "invalid_token")
                            return false
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 } == 1)
            try await isRefused("auth.reset_password", used)
            // Tokens voided by another reset, a change of password or address, a ban, or deletion.
            let third = try await requestReset(3)
            let fourth = try await requestReset(4)
            _ = try await node.connect().call("auth.reset_password", try Self.reset(third, to: "a third password"))
            try await isRefused("auth.reset_password", try Self.reset(fourth, to: "new password"))
            let fifth = try await requestReset(5)
            let dave = try await node.connect()
            try await dave.logIn("dave@example.com", password: "a third password")
            _ = try await dave.call(
                "auth.request_email_change", ["email": "thief@example.com", "password": "a third password"])
            let stolen = try await server.mails(1, to: "thief@example.com")[0]
            _ = try await dave.call(
                "auth.change_password",
                ["current_password": "a third password", "new_password": .string(TestNode.password)])
            try await isRefused("auth.reset_password", try Self.reset(fifth, to: "new password"))
            try await isRefused("auth.confirm_email", try Self.token(stolen))
            let sixth = try await requestReset(6)
            try await node.database.psql(
                "update auth.users set banned_until = now() + interval '1 day' where id = '\(Person.dave.id)'")
            try await isRefused("auth.reset_password", try Self.reset(sixth, to: "new password"))
            try await node.database.psql(
                "update auth.users set banned_until = null where id = '\(Person.dave.id)'")
            // The token stays void after the ban.
            try await isRefused("auth.reset_password", try Self.reset(sixth, to: "new password"))
            let seventh = try await requestReset(7)
            try await node.database.psql(
                "update auth.users set email = 'd@example.com' where id = '\(Person.dave.id)'")
            try await isRefused("auth.reset_password", try Self.reset(seventh, to: "new password"))
            try await node.database.psql(
                "update auth.users set email = 'dave@example.com' where id = '\(Person.dave.id)'")
            try await node.database.psql(
                "update public.user_profiles set is_deleted = true where id = '\(Person.dave.id)'")
            try await isRefused("auth.reset_password", try Self.reset(seventh, to: "new password"))
            // All refusals are the same.
            #expect(refusals.count == 1, "\(refusals)")
        }
    }

    @Test("row 68: gives the same response for an unknown address")
    func unknown() async throws {
        try await Self.with { node, server in
            let client = try await node.connect()
            try await node.database.withConnection { connection in
                // A lookup of an account would wait for this exclusive lock.
                _ = try await connection.execute("begin; lock table auth.users in access exclusive mode")
                let known = try await client.answerText("auth.request_password_reset", ["email": "erin@example.com"])
                let unknown = try await client.answerText("auth.request_password_reset", ["email": "none@example.com"])
                let id = /"id":[^,}]*/
                #expect(known.replacing(id, with: "") == unknown.replacing(id, with: ""))
                #expect(known.contains(#""result":{}"#))
                let rows = try await node.database.column(
                    """
                    select concat_ws(' ', kind, user_id, locale, attempts, last_error) from app.mails
                    where email in ('erin@example.com', 'none@example.com')
                    """)
                #expect(rows == ["reset_password 0", "reset_password 0"])
                _ = try await connection.execute("commit")
            }
            _ = try await server.mails(1, to: "erin@example.com")
            try await node.database.wait(for: "select count(*) from app.mails", toBe: "0")
            #expect(server.received.allSatisfy { $0.to != "none@example.com" })
            // The counts of both have the same size and no readable address.
            let kept = try await node.database.column("select concat(kind, ' ', asked) from app.mail_counts")
            #expect(kept.isEmpty || kept == ["reset_password 1", "reset_password 1"])
        }
    }

    @Test("row 68: limits the mails to an address over all nodes")
    func bounds() async throws {
        try await Self.with({
            var rates = Rates.withoutRefill
            rates.mailsPerHour = 3
            rates.mailRequestsPerHour = 9
            $0.rates = rates
        }) { node, server in
            let client = try await node.connect()
            for email in ["frank@example.com", "none@example.com"] {
                for _ in 0..<3 {
                    _ = try await client.call("auth.request_password_reset", ["email": .string(email)])
                }
                let error = try await client.refused(
                    .rateLimited, "auth.request_password_reset", ["email": .string(email)])
                let wait = try #require(error?.data["retry_after"]?.integerValue)
                #expect((3_500...3_600).contains(wait))
            }
            // The limit of the connection's address, for mails to any address.
            _ = try await client.call("auth.request_password_reset", ["email": "other@example.com"])
            try await client.refused(.rateLimited, "auth.request_password_reset", ["email": "another@example.com"])
            // A registration sends a mail too.
            try await node.connect().refused(
                .rateLimited, "auth.register",
                ["email": "new@example.com", "password": "correct horse", "full_name": "New"])
            #expect(try await server.mails(3, to: "frank@example.com").count == 3)
            try await node.database.wait(for: "select count(*) from app.mails", toBe: "0")
        }
    }

    @Test("row 68: keeps tokens, addresses and texts of mails out of logs")
    func logs() async throws {
        try await MailServer.with { server in
            try await TestDatabase.with { database in
                let node = try await MailTests.node(database, server, ["POSTLINE_LOG_LEVEL": "trace"])
                defer { node.command.signal(SIGKILL) }
                try await node.connect().register("Quinn", email: "quoting@example.com")
                try await node.connect().register("Kay", email: "kay@example.com")
                let client = try await node.connect()
                _ = try await client.call("auth.request_password_reset", ["email": "kay@example.com"])
                _ = try await client.call("auth.request_password_reset", ["email": "nobody@example.org"])
                let mails = try await server.mails(2, to: "kay@example.com")
                try await database.wait(for: "select due_at is null from app.mails", toBe: "t")
                for mail in mails {
                    let token = try #require(mail.token)
                    let found = try await database.value(
                        """
                        select string_agg(t::text, ' ') from (
                            select t::text from app.mail_tokens t union all select t::text from app.mails t
                            union all select t::text from app.mail_counts t) as all_rows (t)
                        """)
                    #expect(found?.contains(token) == false)
                    _ = try? await client.call("auth.confirm_email", ["token": .string(token)])
                    _ = try? await client.call(
                        "auth.reset_password", ["token": .string(token), "password": "a secret password"])
                }
                let log = try await node.stop()
                for token in mails.compactMap(\.token) { #expect(!log.contains(token)) }
                for text in ["@example.com", "@example.org", "a secret password", "Please confirm", "550 5.1.1"] {
                    #expect(!log.contains(text), "\(text)")
                }
                #expect(log.contains("mail not accepted"))
            }
        }
    }

    @Test("rejects mail methods without a mail server")
    func withoutMail() async throws {
        try await withNode { node in
            let client = try await node.stranger()
            for (method, params) in Self.methods {
                let error = try await client.refused(.forbidden, method, params)
                #expect(error?.message.contains("POSTLINE_MAIL_") == true)
            }
            let unconfirmed = try await node.database.value(
                "select count(*) from auth.users where email like '%@new.example.com' and email_confirmed_at is null")
            #expect(unconfirmed == "0")
            #expect(try await node.database.value("select count(*) from app.mails") == "0")
        }
        try await withNode(.external) { node in
            let client = try await node.connect()
            for (method, params) in Self.methods where method != "auth.request_email_change" {
                try await client.refused(.forbidden, method, params)
            }
        }
    }

    private static let methods: [(String, JSONObject)] = [
        ("auth.request_password_reset", ["email": "alice@example.com"]),
        ("auth.reset_password", ["token": "x", "password": "a password"]),
        ("auth.request_email_change", ["email": "x@example.com", "password": "a password"]),
        ("auth.confirm_email", ["token": "x"]),
    ]
}
