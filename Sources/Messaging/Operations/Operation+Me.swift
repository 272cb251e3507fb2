internal import Postgres

extension Operation {
    /// `me.*`: the user's own data, always answered whole.
    static let me = [
        Operation("me.get") { session, _ throws(ProtocolError) in
            try await session.read(Statement("api.me", "select api.me()"), [])
        },
        Operation("me.update", .user, fields + ["if_version"]) { session, params throws(ProtocolError) in
            try params.checkFields()
            return try await session.change(
                Statement("api.update_me", "select api.update_me($1::jsonb, $2::bigint)"),
                [params.patch(fields), params.version()])
        },
        Operation("me.update_physical", .user, physical + ["if_version"]) { session, params throws(ProtocolError) in
            try params.checkPhysical()
            return try await session.change(
                Statement("api.update_physical", "select api.update_physical($1::jsonb, $2::bigint)"),
                [params.patch(physical), params.version()])
        },
        Operation("me.change_username", .user, ["username", "if_version"]) { session, params throws(ProtocolError) in
            let username = try params.requiredString("username")
            return try await session.change(
                Statement("api.change_username", "select api.change_username($1, $2::bigint)"),
                [username, params.version()])
        },
        Operation("me.set_avatar", .user, avatar + ["if_version"]) { session, params throws(ProtocolError) in
            try params.checkAvatar()
            return try await session.change(
                Statement("api.set_avatar", "select api.set_avatar($1, $2, $3, $4::bigint)"),
                avatar.map { name throws(ProtocolError) in try params.string(name) } + [params.version()])
        },
        Operation(
            "me.save", .user, saved + ["if_version"], members: ["avatar": avatar, "physical": physical]
        ) { session, params throws(ProtocolError) in
            try params.checkFields()
            _ = try params.string("username")
            try params.fields("avatar")?.checkAvatar()
            try params.fields("physical")?.checkPhysical()
            return try await session.change(
                Statement("api.save_me", "select api.save_me($1::jsonb, $2::bigint)"),
                [params.patch(saved), params.version()])
        },
        Operation("me.delete", .user, ["password"]) { session, params throws(ProtocolError) in
            let password = try params.givenPassword("password")
            let token = try await session.token
            let deleted = try await session.end { () throws(ProtocolError) in
                try await session.limits.counting(token.passwordChecks) { () throws(ProtocolError) in
                    try await session.service.accounts.delete(token.user, password: password)
                }
            }
            session.service.feed.changed()
            return Answer(.result(deleted))
        },
    ]

    fileprivate static let fields = [
        "full_name", "bio", "website", "location", "language_code", "phone_number", "date_of_birth",
        "preferred_unit_system", "preferences",
    ]
    fileprivate static let physical = ["biological_sex", "height_cm", "date_of_birth"]
    fileprivate static let avatar = ["avatar_type", "avatar_id", "avatar_url"]
    private static let saved = fields + ["username", "avatar", "physical"]
}

/// What can be said of the user's own data before the database is asked.
extension Params {
    fileprivate func checkFields() throws(ProtocolError) {
        for name in Operation.fields where name != "preferences" { _ = try string(name) }
        if let preferences = try object("preferences"), preferences.utf8.count > 16 * 1024 {
            throw .invalid("preferences", "must be at most 16 KiB of JSON")
        }
    }

    fileprivate func checkPhysical() throws(ProtocolError) {
        for name in Operation.physical where name != "height_cm" { _ = try string(name) }
        try requireNumber("height_cm", in: 30...300)
    }

    fileprivate func checkAvatar() throws(ProtocolError) {
        // Null is a choice, to have none; to leave it out is none.
        try requirePresent("avatar_type")
        for name in Operation.avatar { _ = try string(name) }
    }

    /// The version of its own data that a client knows, as PostgreSQL reads it; nil where it does not mind.
    fileprivate func version() throws(ProtocolError) -> String? {
        try integer("if_version", in: 0 ... .max).map { String($0) }
    }
}
