internal import Postgres

extension Operation {
    /// `avatars.*`: the catalogue of built-in avatars.
    static let avatars = [
        Operation("avatars.list", .anyone) { session, _ throws(ProtocolError) in
            try await session.read(Statement("api.avatars", "select api.avatars()"), [])
        }
    ]

    /// `profiles.*`: what users may see of each other.
    static let profiles = [
        Operation("profiles.get", .user, ["ids", "username"]) { session, params throws(ProtocolError) in
            let ids = try params.uuids("ids", count: 1...100)
            let username = try params.string("username")
            switch (ids, username) {
            case (let ids?, nil):
                return try await session.read(Statement("api.profiles", "select api.profiles($1::uuid[])"), [ids])
            case (nil, let username?):
                return try await session.read(
                    Statement("api.profile_by_username", "select api.profile_by_username($1)"), [username])
            case (nil, nil): throw .invalid("ids", "is missing: give \"ids\", or a \"username\"")
            case (_?, _?): throw .invalid("username", "cannot be given together with \"ids\"")
            }
        },
        Operation("profiles.search", .user, ["query", "limit"]) { session, params throws(ProtocolError) in
            let query = try params.required("query") { name throws(ProtocolError) in
                try params.string(name, characters: 2...50)
            }
            let limit = try params.integer("limit", in: 1...50) ?? 20
            try await session.limits.takeSearch(of: session.token.user)
            return try await session.read(
                Statement("api.search_profiles", "select api.search_profiles($1, $2::int)"), [query, String(limit)])
        },
    ]
}
