import Accounts
import Foundation
import JWTKit
import LineClient
import PrivatePostgres
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Supabase database", .timeLimit(.minutes(20)))
struct SupabaseTests {
    @Test("migrates as the owner without superuser, leaving Supabase as is")
    func migrates() async throws {
        try await SupabaseServer.with(migrated: false) { server in
            let before = try await server.catalogue()
            #expect(before.count > 150)
            let first = try await Command.run(["migrate"], environment: server.environment)
            #expect(first.status == 0, "\(first.errors)")
            let after = try await server.catalogue()
            let everybody = "database postgres of postgres: CONNECT,TEMPORARY to public from postgres"
            #expect(before.subtracting(after) == [everybody])
            // The changes are five triggers on accounts, an extension, and two roles' access to our tables. Nobody
            // creates temporary objects.
            let added = after.subtracting(before)
            let expected = [
                "extension pg_trgm in extensions", "schema public of pg_database_owner: USAGE to postline_feed from",
                "schema public of pg_database_owner: USAGE to postline_sender from",
                "trigger CREATE TRIGGER postline_new_account AFTER INSERT ON auth.users",
                "trigger CREATE TRIGGER postline_changed_account AFTER UPDATE ON auth.users",
                "trigger CREATE TRIGGER postline_ended_account AFTER UPDATE ON auth.users",
                "trigger CREATE TRIGGER postline_proven_account AFTER UPDATE ON auth.users",
                "trigger CREATE TRIGGER postline_address BEFORE INSERT OR UPDATE OF email ON auth.users",
                "database postgres of postgres: CONNECT to public from postgres",
            ]
            for start in expected { #expect(added.contains { $0.hasPrefix(start) }, "\(start): \(added)") }
            #expect(added.count == expected.count, "\(added)")

            let again = try await Command.run(["migrate"], environment: server.environment)
            #expect(again.output == "The database is up to date.\n", "\(again.errors)")
            #expect(try await server.catalogue() == after)
            // The owner owns all of our objects, and the database is ready to serve.
            let foreign = try await server.psql(
                as: "postgres",
                """
                select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin') and c.relowner <> 'postgres'::regrole
                """)
            #expect(foreign == "0")
            let doctor = try await Command.run(["doctor"], environment: server.environment)
            #expect(doctor.status == 0, "\(doctor.output)")
            #expect(
                doctor.output.split(separator: "\n").allSatisfy { $0.hasPrefix("ok") || $0.hasPrefix("warning  dur") },
                "\(doctor.output)")
        }
    }

    @Test("uninstalls as the owner, leaving Supabase as it was")
    func removed() async throws {
        try await SupabaseServer.with(migrated: false) { server in
            let before = try await server.catalogue()
            let migrated = try await Command.run(["migrate"], environment: server.environment)
            #expect(migrated.status == 0, "\(migrated.errors)")
            try await server.talk()
            // The auth server cannot delete a user that messages reference. A trusted backend makes it a tombstone.
            let ada = SupabaseUser.ada.id
            await #expect(throws: PrivatePostgresError.self) {
                try await server.psql(as: "supabase_auth_admin", "delete from auth.users where id = '\(ada)'")
            }
            _ = try await server.asAPI(
                #"{"role":"service_role"}"#, role: "service_role",
                "update public.user_profiles set is_deleted = true where id = '\(ada)'")
            let left = try await server.psql(
                as: "postgres",
                """
                select p.full_name is null, s.email is null, u.email is null, u.deleted_at is not null,
                       (select count(*) from public.messages m where m.sender_id = p.id)
                  from public.user_profiles p join public.user_private s on s.id = p.id join auth.users u on u.id = p.id
                 where p.id = '\(ada)'
                """)
            #expect(left == "t|t|t|t|1")

            _ = try await server.psql(as: "postgres", try Self.removal)
            #expect(try await server.catalogue() == before)
        }
    }

    // E6
    @Test("uninstalls without a table of the app that has one of Postline's names")
    func removedBesideOthers() async throws {
        try await SupabaseServer.with { server in
            _ = try await server.psql(
                as: "postgres",
                """
                drop table public.messages cascade;
                create table public.messages (body text);
                insert into public.messages values ('the app wrote this');
                delete from app.migrations where name = '20261121000400_messages';
                """)
            _ = try await server.psql(as: "postgres", try Self.removal)
            let left = try await server.psql(
                as: "postgres", "select body, to_regclass('public.conversations') from public.messages")
            #expect(left == "the app wrote this|")
        }
    }

    /// The statements of docs/supabase.md that remove Postline.
    private static var removal: String {
        get throws {
            let page = try String(contentsOf: SupabaseServer.page, encoding: .utf8)
            let removal = try #require(page.split(separator: "```sql\n").last?.split(separator: "```").first)
            #expect(removal.hasPrefix("do $$"))
            return String(removal)
        }
    }

    @Test("accepts the project's tokens with its JWT secret, live", .covers("A26"))
    func secretTokens() async throws {
        try await SupabaseServer.with { server in
            let keys = try TokenKeys(
                secret: SupabaseToken.secret, issuer: SupabaseToken.issuer, audience: "authenticated",
                ignoringKeyID: true)
            try await withNode(server.database, NodeSettings(accountProvider: .external, keys: keys)) { node in
                let ada = try await node.connect()
                try await ada.authenticate(as: SupabaseToken(.ada))
                #expect(try await ada.call("me.get")["full_name"] == "Ada Arc")
                #expect(try await ada.call("me.get")["email"] == "ada@example.com")
                let ben = try await node.connect()
                try await ben.authenticate(as: SupabaseToken(.ben))
                try await ben.sync()
                let room = try await ada.conversation(with: SupabaseUser.ben.id)
                try await ada.send("over Supabase", to: room)
                try await ben.follow { $0.has("over Supabase", in: room) }
                // Plain indexes find the username. Similarity (pg_trgm, in schema `extensions` there) is used for
                // names.
                _ = try await ben.call("profiles.search", ["query": "zzyzx"])
                let found = try await ben.call("profiles.search", ["query": "ada arc"])
                #expect(found["profiles"]?[0]?["id"]?.stringValue == SupabaseUser.ada.id)

                let guest = try await node.connect()
                try await guest.authenticate(as: SupabaseToken(.guest))
                #expect(try await guest.call("me.get")["is_guest"] == true)

                // A user who signs up at Supabase has a profile at once, and its changes are pushed.
                try await server.signUpLater()
                let later = try await node.connect()
                try await later.authenticate(as: SupabaseToken(.later))
                try await later.sync()
                #expect(try await later.call("me.get")["full_name"] == "Lee Late")
                _ = try await server.psql(
                    as: "supabase_auth_admin",
                    "update auth.users set email = 'new@example.com' where id = '\(SupabaseUser.later.id)'")
                try await later.follow { $0.me?["email"] == "new@example.com" }
                for client in [ada, ben, guest, later] { await client.close() }
            }
        }
    }

    @Test(
        "accepts tokens of the project's ES256 key only",
        .covers("A26", "E3"))
    func publicKeys() async throws {
        try await SupabaseServer.with { server in
            let key = ES256PrivateKey()
            let parameters = try #require(key.parameters)
            let kid = "b81269f1-21d8-4f2e-b719-c2240a840d90"
            // As the project publishes it.
            let jwks = """
                {"keys":[{"alg":"ES256","crv":"P-256","ext":true,"key_ops":["verify"],"kid":"\(kid)","kty":"EC",\
                "use":"sig","x":"\(parameters.x)","y":"\(parameters.y)"}]}
                """
            let keys = try await TokenKeys(jwks: jwks, issuer: SupabaseToken.issuer, audience: "authenticated")
            let good = await JWTKeyCollection().add(ecdsa: key, kid: JWKIdentifier(string: kid))
            let other = await JWTKeyCollection().add(ecdsa: ES256PrivateKey(), kid: JWKIdentifier(string: kid))
            try await withNode(server.database, NodeSettings(accountProvider: .external, keys: keys)) { node in
                let client = try await node.connect()
                let token = try await good.sign(SupabaseToken(.ada), kid: JWKIdentifier(string: kid))
                let answer = try await client.call("session.authenticate", ["access_token": .string(token)])
                #expect(answer["user_id"]?.stringValue == SupabaseUser.ada.id)
                #expect(try await client.call("me.get")["full_name"] == "Ada Arc")
                let stranger = try await node.connect()
                let forged = [
                    try await other.sign(SupabaseToken(.ada), kid: JWKIdentifier(string: kid)),
                    // The project's previous secret.
                    try await SupabaseToken(.ada).signed(),
                ]
                for token in forged {
                    try await stranger.refused(
                        .invalidToken, "session.authenticate", ["access_token": .string(token)])
                }
                for client in [client, stranger] { await client.close() }
            }
        }
    }

    @Test("row 34: refuses the API keys service_role and anon")
    func apiKeys() async throws {
        try await SupabaseServer.with { server in
            let keys = try TokenKeys(
                secret: SupabaseToken.secret, issuer: SupabaseToken.issuer, audience: "authenticated",
                ignoringKeyID: true)
            try await withNode(server.database, NodeSettings(accountProvider: .external, keys: keys)) { node in
                let client = try await node.connect()
                var tokens = [try await SupabaseToken.apiKey("service_role"), try await SupabaseToken.apiKey("anon")]
                for role in ["service_role", "anon", "supabase_admin", "postgres", "postline_feed", ""] {
                    var token = SupabaseToken(.ada)
                    token.role = role
                    tokens.append(try await token.signed())
                }
                var token = SupabaseToken(.ada)
                token.iss = "https://another.supabase.co/auth/v1"
                tokens.append(try await token.signed())
                token = SupabaseToken(.ada)
                token.aud = nil
                tokens.append(try await token.signed())
                token = SupabaseToken(.ada)
                token.sub = nil
                tokens.append(try await token.signed())
                tokens.append(try await SupabaseToken(.ada).signed(secret: "another secret of 32 characters and more"))
                for token in tokens {
                    try await client.refused(
                        .invalidToken, "session.authenticate", ["access_token": .string(token)])
                }
                #expect(try await server.database.value("select count(*) from public.user_profiles") == "0")
                await client.close()
            }
        }
    }

    @Test(
        "an app works over Supabase's SQL API, and live clients follow",
        .covers("A9", "A11", "A33"))
    func app() async throws {
        try await SupabaseServer.with { server in
            try await server.signUpLater()
            try await server.talk()
            let keys = try TokenKeys(
                secret: SupabaseToken.secret, issuer: SupabaseToken.issuer, audience: "authenticated",
                ignoringKeyID: true)
            try await withNode(server.database, NodeSettings(accountProvider: .external, keys: keys)) { node in
                let ada = try await node.connect()
                try await ada.authenticate(as: SupabaseToken(.ada))
                try await ada.sync()
                let ben = SupabaseUser.ben.id
                let room = try await ada.conversation(with: ben)
                try await ada.send("over lines", to: room)
                try await ada.follow { $0.has("over lines", in: room) }
                func asBen(_ sql: String) async throws -> String {
                    try await server.asAPI(#"{"sub":"\#(ben)","role":"authenticated"}"#, sql)
                }

                let list = """
                    select last_message_content, unread_count from rest.conversations
                     where participant1_id = '\(ben)' or participant2_id = '\(ben)' order by last_message_time desc
                    """
                #expect(try await asBen(list) == "over lines|1")
                // Both of Ada's messages are read. She is notified of the mark only.
                let read = """
                    update rest.messages set is_read = true where conversation_id = '\(room)' and sender_id <> '\(ben)'
                    returning content, is_read
                    """
                #expect(try await asBen(read) == "from Ada|t\nover lines|t")
                #expect(try await asBen(list) == "over lines|0")
                let mark = try await ada.nextChanges()
                #expect(mark.names == ["cursor", "reset", "more", "reads"])
                let expected: JSON = [
                    "conversation_id": .string(room), "user_id": .string(ben), "last_read_seq": 3,
                ]
                #expect(mark["reads"] == [expected])
                let sent = try await asBen(
                    """
                    insert into rest.messages (conversation_id, sender_id, content) values ('\(room)', '\(ben)', 'by SQL')
                    returning seq, is_read
                    """)
                #expect(sent == "4|f")
                try await ada.follow { $0.has("by SQL", in: room) }

                // A conversation is returned by its insert, in the view and in the table.
                let guest = SupabaseUser.guest.id
                _ = try await server.psql(as: "postgres", "select accounts.ensure_profile('\(guest)', true)")
                for (schema, one, other) in [("rest", ben, SupabaseUser.later.id), ("public", guest, ben)] {
                    let begin = """
                        insert into \(schema).conversations (participant1_id, participant2_id)
                        values ('\(one)', '\(other)') returning created_by, last_seq
                        """
                    #expect(try await asBen(begin) == "\(ben)|0")
                    await #expect(throws: PrivatePostgresError.self, "it is there") { try await asBen(begin) }
                }
                await ada.close()
            }
        }
    }

    @Test(
        "Supabase's SQL API exposes only a user's own rows",
        .covers("A33"))
    func leaks() async throws {
        try await SupabaseServer.with { server in
            try await server.signUpLater()
            try await server.talk()
            let ada = #"{"sub":"\#(SupabaseUser.ada.id)","role":"authenticated"}"#
            let stranger = #"{"sub":"\#(SupabaseUser.later.id)","role":"authenticated"}"#

            // The visible rows of the public tables: for a member its conversations, for a stranger none.
            let counts = """
                select (select count(*) from public.messages), (select count(*) from public.conversations),
                       (select count(*) from public.conversation_members), (select count(*) from public.user_private),
                       (select count(*) from public.username_history), (select count(*) from public.user_profiles)
                """
            #expect(try await server.asAPI(ada, counts) == "2|1|2|1|0|3")
            #expect(try await server.asAPI(stranger, counts) == "0|0|0|1|0|3")
            #expect(try await server.asAPI(stranger, "select id from public.user_private") == SupabaseUser.later.id)
            let views = """
                select (select count(*) from rest.messages), (select count(*) from rest.conversations),
                       (select count(*) from rest.user_profiles)
                """
            #expect(try await server.asAPI(ada, views) == "2|1|3")
            #expect(try await server.asAPI(stranger, views) == "0|0|3")
            // A user whose claims name nobody.
            #expect(try await server.asAPI("", "select count(*) from public.messages") == "0")

            // Statements on others' rows do nothing.
            for statement in [
                "update public.messages set content = 'mine' returning 1",
                "update public.user_profiles set full_name = 'Mine' where id <> '\(SupabaseUser.later.id)' returning 1",
                "update public.user_private set phone_number = '+4915112345678' where id <> '\(SupabaseUser.later.id)' returning 1",
                "update public.conversations set title = 'mine' returning 1",
                "delete from public.conversation_members returning 1",
                "update rest.messages set is_read = true returning 1",
                "update rest.messages set content = 'mine' returning 1",
                "update rest.conversations set title = 'mine' returning 1",
                "update rest.user_profiles set full_name = 'Mine' where id <> '\(SupabaseUser.later.id)' returning 1",
            ] {
                #expect(try await server.asAPI(stranger, statement) == "", "\(statement)")
            }
            // Forbidden actions are refused, on Postline's objects and Supabase's.
            let room = try await server.psql(as: "postgres", "select id from public.conversations")
            for statement in [
                "insert into public.messages (conversation_id, sender_id, content) values ('\(room)', '\(SupabaseUser.later.id)', 'x')",
                "insert into public.messages (conversation_id, sender_id, content) values ('\(room)', '\(SupabaseUser.ada.id)', 'x')",
                "insert into rest.messages (conversation_id, sender_id, content) values ('\(room)', '\(SupabaseUser.later.id)', 'x')",
                "insert into rest.conversations (participant1_id, participant2_id) values ('\(SupabaseUser.ada.id)', '\(SupabaseUser.ben.id)')",
                "delete from rest.messages",
                "insert into public.conversation_members (conversation_id, user_id) values ('\(room)', '\(SupabaseUser.later.id)')",
                "insert into public.user_profiles (id) values (gen_random_uuid())",
                "delete from public.messages", "delete from public.user_profiles", "truncate public.messages",
                "select * from app.sessions", "select * from app.settings", "select * from app.migrations",
                "select * from app.merged_guests", "update app.words set word = 'x'", "select * from auth.users",
                "select * from accounts.credentials('ada@example.com')",
                "select * from feed.read_changes(pg_current_snapshot())",
                "select accounts.ensure_profile('\(SupabaseUser.ada.id)', true)",
                "set local role postline_feed", "create table public.mine ()",
            ] {
                await #expect(throws: PrivatePostgresError.self, "\(statement)") {
                    try await server.asAPI(stranger, statement)
                }
            }

            // Without a user, and as a trusted backend.
            let anon = #"{"role":"anon"}"#
            #expect(
                try await server.asAPI(anon, role: "anon", "select count(*) > 5 from public.built_in_avatars") == "t")
            for table in [
                "public.messages", "public.conversations", "public.conversation_members", "public.user_profiles",
                "public.user_private", "rest.messages", "rest.conversations", "rest.user_profiles",
            ] {
                await #expect(throws: PrivatePostgresError.self, "\(table)") {
                    try await server.asAPI(anon, role: "anon", "select * from \(table)")
                }
            }
            #expect(
                try await server.asAPI(#"{"role":"service_role"}"#, role: "service_role", counts) == "2|1|2|3|0|3")
        }
    }
}

extension TestClient {
    fileprivate func authenticate(as token: SupabaseToken) async throws {
        try await call("session.authenticate", ["access_token": .string(try await token.signed())])
    }
}

extension SupabaseServer {
    /// Signs up a user like the auth server does, while Postline is installed.
    fileprivate func signUpLater() async throws {
        _ = try await psql(
            as: "supabase_auth_admin",
            """
            insert into auth.users (instance_id, id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at)
            values ('00000000-0000-0000-0000-000000000000', '\(SupabaseUser.later.id)', 'authenticated',
                    'authenticated', 'lee@example.com', '{}', '{"full_name":"Lee Late"}', now())
            """)
    }

    /// Sends a message each from Ada and Ben.
    fileprivate func talk() async throws {
        _ = try await psql(
            as: "postgres",
            """
            select accounts.ensure_profile('\(SupabaseUser.ada.id)', false);
            select accounts.ensure_profile('\(SupabaseUser.ben.id)', false);
            insert into public.conversations (kind, participant1_id, participant2_id)
                values ('direct', '\(SupabaseUser.ada.id)', '\(SupabaseUser.ben.id)');
            insert into public.messages (conversation_id, sender_id, content)
                select c.id, c.participant1_id, 'from Ada' from public.conversations c;
            insert into public.messages (conversation_id, sender_id, content)
                select c.id, c.participant2_id, 'from Ben' from public.conversations c;
            """)
    }
}
