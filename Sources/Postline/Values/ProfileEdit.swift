import Foundation

/// The fields of the user's own data that the user may edit. Unchanged fields are not sent, so that edits of them from
/// elsewhere stay.
public struct ProfileEdit: Sendable, Hashable {
    /// The full name, 1 to 100 characters. It can be changed but not removed.
    public var fullName: String?
    /// The user's description, at most 500 characters, or nil for none.
    public var bio: String?
    /// The website, an https URL of at most 2,048 bytes, or nil for none.
    public var website: String?
    /// The location in the user's words, at most 100 characters.
    public var location: String?
    /// The language by BCP 47, such as `de-AT`.
    public var languageCode: String?
    /// The telephone number in E.164, such as `+491701234567`.
    public var phoneNumber: String?
    /// The day of birth, or nil for none.
    public var dateOfBirth: CalendarDate?
    /// The units to show to the user.
    public var preferredUnitSystem: UnitSystem
    /// The app's settings of the user, at most 16 KiB of JSON, merged key by key.
    public var preferences: [String: JSONValue]
    /// The username: 3 to 30 characters of a-z, 0-9, `_` and `.`, beginning with a letter. It can be changed once in 90
    /// days but not removed.
    public var username: String?
    /// The user's own picture or a built-in avatar, or nil for none.
    public var avatar: AvatarChoice?
    /// The biological sex, or nil for none.
    public var biologicalSex: BiologicalSex?
    /// The height in centimetres, 30 to 300, or nil for none.
    public var heightCM: Double?

    /// A choice of avatar.
    public enum AvatarChoice: Sendable, Hashable {
        /// A built-in avatar of the server (``PostlineClient/builtInAvatars()``).
        case builtIn(id: String)
        /// The picture at this https URL.
        case custom(url: String)
    }

    /// Copies the current values. Nil stands for unknown data of the user.
    init(_ me: Me?) {
        fullName = me?.fullName
        bio = me?.bio
        website = me?.website
        location = me?.location
        languageCode = me?.languageCode
        phoneNumber = me?.phoneNumber
        dateOfBirth = me?.dateOfBirth
        preferredUnitSystem = me?.preferredUnitSystem ?? .metric
        preferences = me?.preferences ?? [:]
        username = me?.username
        avatar =
            switch me?.avatarType {
            case .custom?: me?.avatarURL.map { .custom(url: $0) }
            case .builtIn?: me?.avatarID.map { .builtIn(id: $0) }
            default: nil
            }
        biologicalSex = me?.physical.biologicalSex
        heightCM = me?.physical.heightCM
    }

    /// Returns the params of `me.save` for the changes since `old`. They are empty if there are none.
    func params(since old: ProfileEdit) -> [String: JSONValue] {
        var params: [String: JSONValue] = [:]
        func add(_ name: String, _ path: KeyPath<ProfileEdit, String?>) {
            if self[keyPath: path] != old[keyPath: path] {
                params[name] = self[keyPath: path].map(JSONValue.string) ?? .null
            }
        }
        add("full_name", \.fullName)
        add("bio", \.bio)
        add("website", \.website)
        add("location", \.location)
        add("language_code", \.languageCode)
        add("phone_number", \.phoneNumber)
        add("date_of_birth", \.dateOfBirth?.description)
        if preferredUnitSystem != old.preferredUnitSystem {
            params["preferred_unit_system"] = .string(preferredUnitSystem.rawValue)
        }
        add("username", \.username)
        if preferences != old.preferences {
            // The server merges preferences key by key, and null removes a key.
            var changed: [String: JSONValue] = [:]
            for key in Set(preferences.keys).union(old.preferences.keys) where preferences[key] != old.preferences[key]
            {
                changed[key] = preferences[key] ?? .null
            }
            params["preferences"] = .object(changed)
        }
        if avatar != old.avatar {
            params["avatar"] =
                switch avatar {
                case .builtIn(let id): ["avatar_type": "built_in", "avatar_id": .string(id)]
                case .custom(let url): ["avatar_type": "custom", "avatar_url": .string(url)]
                case nil: ["avatar_type": nil]
                }
        }
        var physical: [String: JSONValue] = [:]
        if biologicalSex != old.biologicalSex {
            physical["biological_sex"] = biologicalSex.map { .string($0.rawValue) } ?? .null
        }
        if heightCM != old.heightCM { physical["height_cm"] = heightCM.map(JSONValue.number) ?? .null }
        if !physical.isEmpty { params["physical"] = .object(physical) }
        return params
    }

    /// Joins the params of two successive edits into one.
    static func joining(_ first: [String: JSONValue], _ second: [String: JSONValue]) -> [String: JSONValue] {
        var joined = first
        for (name, value) in second {
            switch (name, joined[name], value) {
            case ("physical", .object(let held)?, .object(let new)),
                ("preferences", .object(let held)?, .object(let new)):
                joined[name] = .object(held.merging(new) { $1 })
            default: joined[name] = value
            }
        }
        return joined
    }

    /// Returns the user's data as it will be after the server has saved these params.
    static func applying(_ params: [String: JSONValue], to me: Me) throws -> Me {
        guard case .object(var members) = try StoreJSON.convert(me) as JSONValue else { return me }
        for (name, value) in params {
            switch (name, value) {
            case ("avatar", .object(let avatar)):
                for member in ["avatar_type", "avatar_id", "avatar_url"] { members[member] = avatar[member] ?? .null }
            case ("physical", .object(let physical)), ("preferences", .object(let physical)):
                guard case .object(var held)? = members[name] else { continue }
                held.merge(physical) { $1 }
                members[name] = .object(name == "preferences" ? held.filter { $0.value != .null } : held)
            default: members[name] = value
            }
        }
        if let date = params["date_of_birth"], case .object(var physical)? = members["physical"] {
            physical["date_of_birth"] = date
            members["physical"] = .object(physical)
        }
        return try StoreJSON.convert(JSONValue.object(members))
    }

    /// Returns the params of `me.save` whose fields are empty in `me`.
    static func filling(_ params: [String: JSONValue], in me: Me) throws -> [String: JSONValue] {
        guard case .object(let members) = try StoreJSON.convert(me) as JSONValue else {
            return params
        }
        func isEmpty(_ value: JSONValue?) -> Bool { value == nil || value == .null }
        var filling: [String: JSONValue] = [:]
        for (name, value) in params {
            switch (name, value) {
            case ("avatar", _): if isEmpty(members["avatar_type"]) { filling[name] = value }
            case ("physical", .object(let new)), ("preferences", .object(let new)):
                guard case .object(let held)? = members[name] else { continue }
                let missing = new.filter { isEmpty(held[$0.key]) }
                if !missing.isEmpty { filling[name] = .object(missing) }
            default: if isEmpty(members[name]) { filling[name] = value }
            }
        }
        return filling
    }
}
