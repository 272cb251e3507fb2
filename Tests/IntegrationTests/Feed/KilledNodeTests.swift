import BoundedWait
import Testing

/// Measures the time that the protocol promises, so it runs alone (`make test`).
@Suite("Killed node", .timeLimit(.minutes(20)))
struct KilledNodeTests {
    @Test("row 64: a killed node's users go offline within 15 seconds")
    func killed() async throws {
        try await withAliceElsewhere { node, process, bob in
            // A thousand more users, as if connected to that node.
            try await node.database.psql(
                """
                insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 1000);
                insert into app.node_users
                select n.node_id, p.id from app.node_users n, user_profiles p
                where n.user_id = '\(Person.alice.id)' and p.is_guest;
                select app.update_presence(array(select id from user_profiles where is_guest));
                """)
            let online = "select count(*) from presence where is_online and user_id <> '\(Person.bob.id)'"
            #expect(try await node.database.value(online) == "1001")
            try await within("all of the node's users to be offline", limit: .seconds(15)) {
                try await process.kill()
                try await bob.follow("Alice's going") { !$0.showsOnline(.alice) }
                try await node.database.wait(for: online, toBe: "0")
            }
        }
    }
}
