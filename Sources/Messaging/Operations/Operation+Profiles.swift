internal import Postgres

extension Operation {
    /// The methods `avatars.*` of built-in avatars.
    static let avatars = [listAvatars]

    private static let listAvatars = Operation(
        "avatars.list", .anyone, "The built-in avatars of this server.",
        result: .object([
            ("avatars", .array(of: .object([("id", .string), ("name", .string), ("color", .string)])))
        ])
    ) { session, _ throws(ProtocolError) in
        try await session.readPreferringStandby(Statement("api.avatars", "select api.avatars()"), [])
    }

    /// The methods `profiles.*`.
    static let profiles = [get, search]

    private static let get = Operation(
        "profiles.get", .user, "The profiles of those ids, or the one of that username.",
        [
            Parameter("ids", .uuids(1...100), .optional, "Whose; unknown ones are left out of the answer."),
            Parameter("username", .string(.any), .optional, "Whose; in any case."),
        ],
        alternatives: Alternatives(first: "ids", second: "username", isRequired: true),
        result: .profileOrList, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        guard let ids = params.uuids("ids") else {
            return try await session.readPreferringStandby(
                Statement("api.profile_by_username", "select api.profile_by_username($1)"),
                [params.string("username")])
        }
        return try await session.readPreferringStandby(
            Statement("api.profiles", "select api.profiles($1::uuid[])"), [ids])
    }

    private static let search = Operation(
        "profiles.search", .user, "People by username or full name, best match first; typos are tolerated.",
        [
            Parameter("query", .string(.characters(2...50)), "What to look for."),
            Parameter("limit", .integer(1...50), .optional, default: .integer(20), "How many at most."),
        ],
        result: .profileList
    ) { session, params throws(ProtocolError) in
        try await session.limits.takeSearch(of: session.token.user)
        return try await session.readPreferringStandby(
            Statement("api.search_profiles", "select api.search_profiles($1, $2::int)"),
            [params.string("query"), params.digits("limit")])
    }
}
