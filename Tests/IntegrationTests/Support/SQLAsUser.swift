import Foundations

extension TestDatabase {
    /// Runs statements with a user's rights, like an app that uses the database without Postline.
    ///
    /// - Throws: The database's error.
    func psql(as user: String, _ sql: String) async throws {
        try await psql(
            """
            begin;
            \(Self.rights(of: user))
            \(sql);
            commit
            """)
    }

    /// Returns statements that give the rest of a transaction a user's rights.
    static func rights(of user: String) -> String {
        """
        set local role authenticated;
        set local request.jwt.claims = '{"sub":"\(user)","role":"authenticated"}';
        """
    }

    /// Runs statements with the rights of a trusted backend.
    ///
    /// - Throws: The database's error.
    func psqlAsBackend(_ sql: String) async throws {
        try await psql("begin; set local role service_role; \(sql); commit")
    }

    /// Creates a group as a trusted backend, owned by its first member, and returns its id.
    func makeGroup(_ title: String, _ members: [String]) async throws -> String {
        let id = ID.random().description
        let rows = members.enumerated().map { place, member in
            "('\(id)', '\(member)', '\(place == 0 ? "owner" : "member")')"
        }
        try await psqlAsBackend(
            """
            insert into public.conversations (id, kind, title, created_by)
                values ('\(id)', 'group', '\(title)', '\(members.first ?? "")');
            insert into public.conversation_members (conversation_id, user_id, role) values \(rows.joined(separator: ", "))
            """)
        return id
    }
}
