import BoundedWait
@testable import LineClient
@testable import Messaging
import Postgres
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Requests run with their user's rights only", .timeLimit(.minutes(20)))
struct RequestIsolationTests {
    @Test("row 32: the login role can do nothing without a request's role")
    func failsClosed() async throws {
        try await withNode { node in
            let database = node.database
            let tables = try await database.column(
                """
                select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'app', 'admin', 'auth')
                union all select format('%I.%I', schemaname, viewname) from pg_views where schemaname in ('public', 'app', 'rest', 'auth')
                """
            ).compactMap { $0 }
            #expect(tables.count >= 41)
            let functions = try await database.column(
                """
                select format('%I.%I(%s)', n.nspname, p.proname,
                              (select string_agg('null::' || format_type(t, null), ', ' order by i)
                                 from unnest(p.proargtypes) with ordinality as a (t, i)))
                  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                 where n.nspname in ('api', 'accounts', 'feed', 'admin', 'app') and p.prorettype <> 'trigger'::regtype and p.prokind = 'f'
                """
            ).compactMap { $0 }
            #expect(functions.count >= 229)
            let connection = try await database.connect(as: "postline")
            func refusal(_ sql: String) async throws -> String {
                do {
                    _ = try await connection.execute(sql)
                    return "done"
                } catch PostgresError.server(let error) {
                    return error.sqlState.rawValue
                }
            }
            #expect(try await refusal("select 1 / (session_user = 'postline')::int") == "done")
            for table in tables {
                for sql in [
                    "select * from \(table)", "insert into \(table) default values", "delete from \(table)",
                    "truncate \(table)", "copy \(table) to stdout",
                ] {
                    // A view supports neither TRUNCATE nor COPY.
                    #expect(["42501", "42809"].contains(try await refusal(sql)), "\(sql)")
                }
            }
            for function in functions { #expect(try await refusal("select \(function)") == "42501", "\(function)") }
            for sql in [
                "create table public.mine ()", "create table app.mine ()", "create schema mine", "set role postgres",
                "set role service_role", "alter role postline superuser", "create role mine",
            ] {
                #expect(try await refusal(sql) == "42501", "\(sql)")
            }
            await connection.close()
        }
    }

    @Test(
        "row 33: users who share a connection keep their own identity",
        .covers("A25", "E7"))
    func alternating() async throws {
        try await withNode(NodeSettings(poolSize: 1)) { node in
            let people: [Person] = [.alice, .bob, .carol]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in people {
                    group.addTask {
                        let client = try await node.signedIn(person)
                        for round in 0..<30 {
                            #expect(try await client.call("me.get")["username"]?.stringValue == person.rawValue)
                            switch round % 4 {
                            case 0:
                                try await client.refused(
                                    .notFound, "conversations.get", ["conversation_id": .string(nobody)])
                            case 1:
                                try await client.refused(
                                    .invalidParams, "me.update", ["bio": .string(String(repeating: "x", count: 501))])
                            case 2: try await client.call("me.update", ["bio": "\(person) \(round)"])
                            default:
                                try await client.refused(
                                    .versionConflict, "me.update", ["bio": "never", "if_version": 0])
                            }
                        }
                    }
                }
                group.addTask {
                    let anybody = try await node.connect()
                    for _ in 0..<60 {
                        try await anybody.call("avatars.list")
                        try await anybody.refused(.unauthenticated, "me.get")
                    }
                }
                try await group.waitForAll()
            }
            #expect(
                try await node.database.column(
                    "select username || ' ' || bio from public.user_profiles where bio like '% 26' order by 1")
                    == ["alice alice 26", "bob bob 26", "carol carol 26"])
        }
    }

    @Test("row 33: leaves no request state on a pooled connection")
    func nothingLeft() async throws {
        try await withNode(NodeSettings(poolSize: 1)) { node in
            let alice = try await node.signedIn(.alice)
            try await alice.call("me.get")
            // The pool's own backend cannot be queried, but any other with the same steps can.
            let connection = try await node.database.connect(as: "postline")
            let set = Statement(
                "set",
                "select set_config('role', 'authenticated', true), set_config('request.jwt.claims', '{\"sub\":\"\(Person.alice.id)\"}', true)"
            )
            let get = Statement("get", "select current_user, current_setting('request.jwt.claims', true)")
            let inside = try await connection.run([Call(set), Call(get)], deadline: watchdogLimit)[1]
            #expect(inside.text(0, 0) == "authenticated")
            let after = try await connection.run([Call(get)], deadline: watchdogLimit)[0]
            #expect(after.text(0, 0) == "postline")
            #expect(after.text(0, 1) == "")
            await connection.close()
        }
    }

    @Test("row 35: SQL in any string parameter is stored as text")
    func injection() async throws {
        try await withNode { node in
            let texts = [
                "'; drop table public.messages; --", "\\'; select pg_sleep(100); --", "$1", "$$; rollback; $$", "{1,2}",
                "\"}', '', true); set role postgres; --", "%s %I %L", "' || current_user || '", "null", "E'\\x41'",
                "\\",
            ]
            let client = try await node.signedIn(.alice)
            let counts =
                "select (select count(*) from public.messages) || ' ' || (select count(*) from public.user_profiles) || ' ' || (select count(*) from auth.users)"
            var (probes, sent) = (0, 0)
            for method in SampleParameters.methods {
                let names = try #require(
                    SampleParameters.stringParams(of: method), "\(method.method) has a parameter without a sample value"
                )
                for name in names {
                    for text in texts {
                        probes += 1
                        let value: JSON =
                            switch SampleParameters.value(of: name, in: method) {
                            case .array?: [.string(text)]
                            case .object?: .object(JSONObject([.init(name: text, value: .string(text))]))
                            default: .string(text)
                            }
                        do {
                            // Without the sample client_id, which would make all sends the same.
                            let params = SampleParameters.params(of: method, with: name, value).members
                                .filter { $0.name != "client_id" || name == "client_id" }
                            let answer = try await client.call(method.method, JSONObject(params))
                            if method.method == "messages.send" { sent += 1 }
                            // Unchanged input is returned unchanged.
                            let kept = method.method == "me.update" && ["full_name", "bio", "location"].contains(name)
                            if kept || method.method == "messages.send" && name == "content" {
                                #expect(answer[name] == .string(text), "\(method.method) \(name)")
                            }
                            if name == "preferences" { #expect(answer[name]?[text] == .string(text)) }
                        } catch let error as RemoteError {
                            let code = try #require(error.knownCode)
                            #expect(
                                ![.internalError, .timeout, .unavailable].contains(code),
                                "\(method.method) \(name) \(text): \(error)")
                        }
                    }
                }
            }
            #expect(probes >= 649)
            #expect(sent >= texts.count)
            // The dev world's messages, and those sent here, with their own client_id or none.
            let stored = try await node.database.value(counts)?.split(separator: " ").map(String.init) ?? []
            #expect(stored.count == 3)
            #expect(Int(stored[0]) ?? 0 > 400)
            #expect(stored[1] == "6" && stored[2] == "6")
        }
    }
}
