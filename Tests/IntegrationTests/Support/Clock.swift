extension TestDatabase {
    /// Advances the clock of cooldowns, reserved names and the reuse window.
    func setClock(ahead interval: String) async throws {
        try await psql(
            """
            insert into app.settings (name, value) values ('clock_offset', '\(interval)')
                on conflict (name) do update set value = excluded.value
            """)
    }

    /// Returns the database's clock in wire format.
    func clock() async throws -> String {
        try await value("select app.utc(clock_timestamp())") ?? ""
    }
}
