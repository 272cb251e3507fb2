import Accounts
import Postgres
import WireProtocol

extension Operation {
    /// The methods `me.*` of the user's own data. Their results are the complete data.
    static let me = [get, update, updatePhysical, changeUsername, setAvatar, save, delete, export]

    private static let get = Operation("me.get", .user, "Returns the user's own data.", result: .me) {
        session, _ throws(ProtocolError) in
        try await session.read(Statement("api.me", "select api.me()"), [])
    }

    private static let export = Operation(
        "me.export", .user, "Returns a page of everything that the user may see, to keep as a file.",
        [
            Parameter(
                "after", .string(.bytes(1...100)), .optional,
                "The next of the page before. Without it, the export begins with the user's own data.")
        ],
        result: .object([
            (
                "objects",
                .array(of: .anyObject).described("Objects, each with one member, which is named by its kind.")
            ),
            ("next", .string.nullable.described("The after of the next page, or null at the end.")),
        ])
    ) { session, params throws(ProtocolError) in
        let start = ContinuousClock.now
        let page = try await session.readPreferringStandby(
            Statement("api.export", "select api.export($1)"), [params.string("after")])
        // One page after another leaves three quarters of the time to others. A cancelled request needs no response.
        try? await Task.sleep(for: min((.now - start) * 3, .seconds(1)))
        return page
    }

    private static let update = Operation(
        "me.update", .user, "Updates the user's own data.", fields + [.version], result: .me,
        errors: [.versionConflict]
    ) { session, params throws(ProtocolError) in
        try await session.changeOwnData(
            Statement("api.update_me", "select api.update_me($1::jsonb, $2::bigint)"),
            [params.patch(without: Parameter.version.name).text, params.version])
    }

    private static let updatePhysical = Operation(
        "me.update_physical", .user, "Updates the user's physical data.", physical + [.version], result: .me,
        errors: [.versionConflict]
    ) { session, params throws(ProtocolError) in
        try await session.changeOwnData(
            Statement("api.update_physical", "select api.update_physical($1::jsonb, $2::bigint)"),
            [params.patch(without: Parameter.version.name).text, params.version])
    }

    private static let changeUsername = Operation(
        "me.change_username", .user, "Changes the unique username, once in 90 days.",
        [.newUsername(.required), .version], result: .me,
        errors: [.usernameTaken, .usernameCooldown, .versionConflict]
    ) { session, params throws(ProtocolError) in
        try await session.changeOwnData(
            Statement("api.change_username", "select api.change_username($1, $2::bigint)"),
            [params.string("username"), params.version])
    }

    private static let setAvatar = Operation(
        "me.set_avatar", .user, "Sets or removes the user's avatar.", avatar + [.version], result: .me,
        errors: [.versionConflict]
    ) { session, params throws(ProtocolError) in
        let given = params.patch(without: Parameter.version.name)
        let avatar = try await given.locatingFile(.avatar, as: "avatar_url", path: "", in: session)
        return try await session.changeOwnData(
            Statement("api.set_avatar", "select api.set_avatar($1, $2, $3, $4::bigint, $5::uuid)"),
            ["avatar_type", "avatar_id", "avatar_url"].map { avatar.text(of: $0) } + [
                params.version, avatar.text(of: "media_id"),
            ])
    }

    private static let save = Operation(
        "me.save", .user, "Saves a whole edit screen atomically.",
        fields + [
            .newUsername(.optionalNotNull),
            Parameter("avatar", .fields(avatar), .optionalNotNull, "The params of me.set_avatar."),
            Parameter("physical", .fields(physical), .optionalNotNull, "The params of me.update_physical."),
            .version,
        ],
        result: .me, errors: [.usernameTaken, .usernameCooldown, .versionConflict]
    ) { session, params throws(ProtocolError) in
        var patch = params.patch(without: Parameter.version.name)
        if let given = params.object("avatar") {
            let avatar = try await given.locatingFile(.avatar, as: "avatar_url", path: "avatar.", in: session)
            patch = JSONObject(
                patch.members.filter { $0.name != "avatar" } + [.init(name: "avatar", value: .object(avatar))])
        }
        return try await session.changeOwnData(
            Statement("api.save_me", "select api.save_me($1::jsonb, $2::bigint)"), [patch.text, params.version])
    }

    private static let delete = Operation(
        "me.delete", .user, "Deletes the account. Its messages stay, with a tombstone as their sender.",
        [
            Parameter("password", .string(.bytes(0...72)), .optional, "The account's password. A guest has none."),
            .identityToken(.optional), .nonce,
        ],
        result: .object([("deleted", .bool)]), errors: [.invalidCredentials, .invalidToken, .tokenExpired, .forbidden]
    ) { session, params throws(ProtocolError) in
        let password = params.string("password")
        let token = try await session.token
        var identity: AppleIdentity?
        if let text = params.string("identity_token") {
            identity = try await session.service.accounts.requireApple().verify(
                text, nonce: params.string("nonce"), isFresh: true)
        }
        let deleted = try await session.endOwnSession { () throws(ProtocolError) in
            try await session.limits.withPasswordLimit(token.passwordChecks) { () throws(ProtocolError) in
                guard let identity else {
                    return try await session.service.accounts.delete(token.user, password: password)
                }
                return try await session.service.accounts.delete(token.user, by: identity)
            }
        }
        await session.recordWriteTimeAndNotifyFeed()
        return Answer(.result(deleted))
    }
}

extension ConnectionSession {
    /// Runs a change of the user's own data. All who share a conversation with the user receive it, so it counts as ten
    /// changes, and for the client's address as fifty.
    fileprivate func changeOwnData(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer
    {
        try await change(function, parameters, members: 100, addressCost: 50)
    }
}

/// The params of the user's own data. The database validates most texts, since SQL can also write them.
extension Operation {
    private static let fields = [
        Parameter(
            "full_name", .string(.characters(1...100), validatedBy: .database), .optionalNotNull,
            "It cannot be cleared."),
        Parameter("bio", .string(.characters(0...500), validatedBy: .database), .clearable, "About the user."),
        Parameter(
            "website", .string(.httpsURL(maxBytes: 2_048), validatedBy: .database), .clearable, "The user's website."),
        Parameter(
            "location", .string(.characters(0...100), validatedBy: .database), .clearable, "The user's location."),
        Parameter("language_code", .string(.languageTag, validatedBy: .database), .clearable, "The user's language."),
        Parameter(
            "phone_number", .string(.phoneNumber, validatedBy: .database), .clearable, "Visible only to the user."),
        dateOfBirth,
        Parameter(
            "preferred_unit_system", .string(.choice(["metric", "imperial"]), validatedBy: .database), .clearable,
            "Metric if it is cleared."),
        Parameter(
            "preferences", .object(maxBytes: 16 * 1024), .clearable,
            "The app's own data, merged by key. Null removes a key. The limit also applies to the merged data."),
    ]

    private static let physical = [
        Parameter(
            "biological_sex", .string(.choice(["male", "female", "other"]), validatedBy: .database), .clearable,
            "Visible only to the user."),
        Parameter("height_cm", .number(30...300), .clearable, "Visible only to the user."),
        dateOfBirth,
    ]

    private static let avatar = [
        Parameter(
            "avatar_type", .string(.choice(["built_in", "custom"]), validatedBy: .database), .requiredOrNull,
            "Null removes the avatar."),
        Parameter("avatar_id", .string(.any), .optional, "The id of a built-in avatar, from avatars.list."),
        Parameter(
            "avatar_url", .string(.httpsURL(maxBytes: 2_048), validatedBy: .database), .optional,
            "The URL of a custom avatar, unless media_id is given."),
        Parameter("media_id", .uuid, .optional, "A picture that was uploaded as an avatar (media.create)."),
    ]

    private static let dateOfBirth = Parameter(
        "date_of_birth", .string(.date, validatedBy: .database), .clearable,
        "Between 1900 and today. Visible only to the user.")
}

extension Parameter {
    fileprivate static let version = Parameter(
        "if_version", .integer(0 ... .max), .optional, "The expected version of the user's data.")

    fileprivate static func newUsername(_ requirement: Requirement) -> Parameter {
        Parameter(
            "username", .string(.username, validatedBy: .database), requirement,
            "The unique username, compared without case.")
    }
}

extension JSONObject {
    /// Returns the text of a member, or nil if it is not a string.
    fileprivate func text(of name: String) -> String? {
        guard case .string(let text)? = self[name] else { return nil }
        return text
    }
}

extension Params {
    /// The expected version of the user's data as PostgreSQL text, or nil for any version.
    fileprivate var version: String? { digits(Parameter.version.name) }
}
