internal import Postgres

extension Operation {
    /// `me.*`: the user's own data, always answered whole.
    static let me = [
        Operation("me.get") { session, _ throws(ProtocolError) in
            try await session.read(Statement("api.me", "select api.me()"), [])
        },
        Operation("me.update", .user, updatable + ["if_version"]) { session, params throws(ProtocolError) in
            for name in updatable where name != "preferences" { _ = try params.string(name) }
            if let preferences = try params.object("preferences"), preferences.utf8.count > 16 * 1024 {
                throw .invalid("preferences", "must be at most 16 KiB of JSON")
            }
            let version = try params.integer("if_version", in: 0 ... .max)
            return try await session.write(
                Statement("api.update_me", "select api.update_me($1::jsonb, $2::bigint)"),
                [params.patch(updatable), version.map(String.init)])
        },
    ]

    private static let updatable = [
        "full_name", "bio", "website", "location", "language_code", "phone_number", "date_of_birth",
        "preferred_unit_system", "preferences",
    ]
}
