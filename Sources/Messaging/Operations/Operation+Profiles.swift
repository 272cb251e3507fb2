import Accounts
import Postgres
import WireProtocol

extension Operation {
    /// The methods `avatars.*` of built-in avatars.
    static let avatars = [listAvatars]

    private static let listAvatars = Operation(
        "avatars.list", .anyone, "Lists the built-in avatars of this server.",
        result: .object([
            ("avatars", .array(of: .object([("id", .string), ("name", .string), ("color", .string)])))
        ])
    ) { session, _ throws(ProtocolError) in
        try await session.readPreferringStandby(Statement("api.avatars", "select api.avatars()"), [])
    }

    /// The methods `profiles.*`.
    static let profiles = [get, search]

    private static let get = Operation(
        "profiles.get", .user, "Returns the profiles with these ids, or the profile with this username.",
        [
            Parameter(
                "ids", .uuids(1...100), .optional, "The ids of the users. Unknown ones are left out of the result."),
            Parameter("username", .string(.any), .optional, "The username, compared without case."),
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
        "profiles.search", .user,
        "Searches users by username or full name, best match first, with tolerance for typos.",
        [
            Parameter("query", .string(.characters(2...50)), "The text to search."),
            Parameter("limit", .integer(1...50), .optional, default: .integer(20), "The most results."),
        ],
        result: .profileList
    ) { session, params throws(ProtocolError) in
        try await session.limits.takeSearch(of: session.token.user)
        return try await session.readPreferringStandby(
            Statement("api.search_profiles", "select api.search_profiles($1, $2::int)"),
            [params.string("query"), params.digits("limit")])
    }
}
