extension TestDatabase {
    /// Moves the time that cooldowns, holds and the reuse window go by: it is that much ahead from now on.
    func setClock(ahead interval: String) async throws {
        try await psql(
            """
            insert into app.settings (name, value) values ('clock_offset', '\(interval)')
                on conflict (name) do update set value = excluded.value
            """)
    }

    /// Returns the database's time in wire format.
    func clock() async throws -> String {
        try await value("select app.utc(clock_timestamp())") ?? ""
    }
}
