import LineClient
import NIOPosix
import PrivatePostgres
import WireProtocol

/// Many guests, created quickly, and their watchers.
struct GuestCrowd: Sendable {
    struct Guest: Sendable {
        let id: String
        let token: String

        /// - Parameter tokens: the result of `auth.guest`.
        init(_ tokens: JSON) throws {
            guard let id = tokens["user_id"]?.stringValue, let token = tokens["access_token"]?.stringValue else {
                throw BenchError("A guest has no tokens.")
            }
            self.id = id
            self.token = token
        }
    }

    let guests: [Guest]

    /// Registers guests over a few connections at a time.
    static func make(_ count: Int, port: Int, group: MultiThreadedEventLoopGroup) async throws -> GuestCrowd {
        GuestCrowd(guests: try await many(count, atOnce: 16) { try await guest($0, port: port, group: group) })
    }

    /// Creates the given number, several at a time, and returns them in order.
    private static func many<Made: Sendable>(
        _ count: Int, atOnce: Int, _ make: @escaping @Sendable (Int) async throws -> Made
    ) async throws -> [Made] {
        try await withThrowingTaskGroup(of: (Int, Made).self) { tasks in
            var all: [Made?] = Array(repeating: nil, count: count)
            var next = 0
            func add() {
                let number = next
                next += 1
                tasks.addTask { (number, try await make(number)) }
            }
            while next < min(atOnce, count) { add() }
            while let (number, made) = try await tasks.next() {
                all[number] = made
                if next < count { add() }
            }
            return all.compactMap(\.self)
        }
    }

    private static func guest(_ number: Int, port: Int, group: MultiThreadedEventLoopGroup) async throws -> Guest {
        let client = try await LineClient.connect(host: "127.0.0.1", port: port, group: group)
        let tokens = try await client.call("auth.guest", ["full_name": .string("Guest \(number)")])
        await client.close()
        return try Guest(tokens)
    }

    /// Puts all guests into groups of `size`, each with `others` added, by SQL since this is not measured.
    ///
    /// - Returns: the groups' ids.
    func group(by size: Int = 240, with others: [String], in postgres: PrivatePostgres) async throws -> [String] {
        var groups: [String] = []
        var statements: [String] = []
        let ids = guests.map(\.id)
        for start in stride(from: 0, to: ids.count, by: size) {
            let members = ids[start..<min(start + size, ids.count)] + others
            let group = randomUUID()
            groups.append(group)
            statements.append(
                """
                begin;
                insert into public.conversations (id, kind, title) values ('\(group)', 'group', 'Bench');
                insert into public.conversation_members (conversation_id, user_id)
                select '\(group)', member from unnest('{\(members.joined(separator: ","))}'::uuid[]) member;
                commit;
                """)
        }
        try await postgres.psql(statements.joined(separator: "\n"), database: "postline")
        return groups
    }

    /// Connects a watcher for each guest, spread over the nodes.
    ///
    /// - Parameters:
    ///   - way: the transport, with its ports.
    ///   - cursor: the cursor to resume from, or nil for a reset.
    ///   - inBackground: true if the connections must not count as online.
    func watch(
        ports: [Int], by way: Transport = .line, group: MultiThreadedEventLoopGroup, tally: Tally,
        cursor: String? = nil,
        inBackground: Bool = false, atOnce: Int = 64
    ) async throws -> [Watcher] {
        try await Self.many(guests.count, atOnce: atOnce) { [self] number in
            try await way.watch(
                port: ports[number % ports.count], group: group, token: guests[number].token, cursor: cursor,
                inBackground: inBackground, tally: tally)
        }
    }
}
