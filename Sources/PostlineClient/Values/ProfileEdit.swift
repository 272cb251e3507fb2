import Foundation

/// What a user may change of its own data. What is left as it was is not sent, so that edits of other fields, made
/// elsewhere meanwhile, stay.
public struct ProfileEdit: Sendable, Hashable {
    /// 1 to 100 characters. It can be changed and not cleared.
    public var fullName: String?
    /// What the user says of itself, at most 500 characters; nil: nothing.
    public var bio: String?
    /// An https URL, of at most 2,048 bytes; nil: none.
    public var website: String?
    /// Where the user is, in its own words; at most 100 characters.
    public var location: String?
    /// A language by BCP 47, such as `de-AT`.
    public var languageCode: String?
    /// In E.164, such as `+491701234567`.
    public var phoneNumber: String?
    /// The day of birth; nil: it is not told.
    public var dateOfBirth: CalendarDate?
    /// The units that the user wants to read.
    public var preferredUnitSystem: UnitSystem
    /// The app's own settings of the user, at most 16 KiB of JSON. They are merged key by key.
    public var preferences: [String: JSONValue]
    /// 3 to 30 of a-z, 0-9, `_` and `.`, with a letter first; it can be changed once in 90 days, and not cleared.
    public var username: String?
    /// A picture of the user's own or one of the catalogue; nil: none.
    public var avatar: AvatarChoice?
    /// The biological sex; nil: it is not told.
    public var biologicalSex: BiologicalSex?
    /// The height in centimetres, 30 to 300; nil: it is not told.
    public var heightCM: Double?

    /// A choice of avatar.
    public enum AvatarChoice: Sendable, Hashable {
        /// One of ``PostlineClient/PostlineClient/builtInAvatars()``.
        case builtIn(id: String)
        /// The picture at this https URL.
        case custom(url: String)
    }

    /// Begins with what there is; nil where nothing is known of the user yet.
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

    /// The params of `me.save` that make the one of the other; empty where they are the same.
    func params(since old: ProfileEdit) -> [String: JSONValue] {
        var params: [String: JSONValue] = [:]
        func note(_ name: String, _ path: KeyPath<ProfileEdit, String?>) {
            if self[keyPath: path] != old[keyPath: path] {
                params[name] = self[keyPath: path].map(JSONValue.string) ?? .null
            }
        }
        note("full_name", \.fullName)
        note("bio", \.bio)
        note("website", \.website)
        note("location", \.location)
        note("language_code", \.languageCode)
        note("phone_number", \.phoneNumber)
        note("date_of_birth", \.dateOfBirth?.description)
        if preferredUnitSystem != old.preferredUnitSystem {
            params["preferred_unit_system"] = .string(preferredUnitSystem.rawValue)
        }
        note("username", \.username)
        if preferences != old.preferences {
            // They are merged key by key, and null removes.
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

    /// The params of two edits in a row as those of one.
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

    /// What the user's data will be once the server has saved these params.
    static func applying(_ params: [String: JSONValue], to me: Me) throws -> Me {
        guard case .object(var members) = try StoreJSON.decode(try StoreJSON.encode(me)) as JSONValue else { return me }
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
        return try StoreJSON.decode(try StoreJSON.encode(JSONValue.object(members)))
    }

    /// Of params of `me.save` those that fill what is empty.
    static func filling(_ params: [String: JSONValue], in me: Me) throws -> [String: JSONValue] {
        guard case .object(let members) = try StoreJSON.decode(try StoreJSON.encode(me)) as JSONValue else {
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
