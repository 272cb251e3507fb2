public import Foundation

/// The user's own data (`docs/protocol.md`, section 3, Me): the complete ``User`` and the private fields.
@dynamicMemberLookup
public struct Me: Sendable, Hashable, Codable, Identifiable {
    /// The part that other users see.
    public var profile: User
    /// The address to sign in with; nil for a guest.
    public var email: String?
    /// The telephone number in E.164, such as `+491701234567`.
    public var phoneNumber: String?
    /// True if the telephone number is verified.
    public var phoneVerified: Bool
    /// The day of birth, the same as `physical.dateOfBirth`.
    public var dateOfBirth: CalendarDate?
    /// The units to show to the user.
    public var preferredUnitSystem: UnitSystem
    /// The app's settings of the user.
    public var preferences: [String: JSONValue]
    /// The user's physical data.
    public var physical: Physical
    /// The time of the last change of the username, or nil if it was never changed.
    public var usernameChangedAt: Date?
    /// The number of changes of the username.
    public var usernameChangeCount: Int
    /// The time at which the username may be changed again, or nil for now.
    public var usernameChangeAllowedAt: Date?
    /// True if the user may read and close reports, and decide about held messages.
    public var isModerator: Bool

    /// The user's id, the same as the profile's.
    public var id: User.ID { profile.id }

    /// A field of ``User``.
    public subscript<Value>(dynamicMember path: WritableKeyPath<User, Value>) -> Value {
        get { profile[keyPath: path] }
        set { profile[keyPath: path] = newValue }
    }

    /// A field of ``User``, or a value computed from them.
    public subscript<Value>(dynamicMember path: KeyPath<User, Value>) -> Value { profile[keyPath: path] }

    /// A user's physical data.
    public struct Physical: Sendable, Hashable, Codable {
        /// The biological sex, or nil if it is not set.
        public var biologicalSex: BiologicalSex?
        /// The height in centimetres, or nil if it is not set.
        public var heightCM: Double?
        /// The day of birth, or nil if it is not set.
        public var dateOfBirth: CalendarDate?

        enum CodingKeys: String, CodingKey {
            case biologicalSex = "biological_sex"
            case heightCM = "height_cm"
            case dateOfBirth = "date_of_birth"
        }
    }

    enum CodingKeys: String, CodingKey {
        case email, preferences, physical
        case phoneNumber = "phone_number"
        case phoneVerified = "phone_verified"
        case dateOfBirth = "date_of_birth"
        case preferredUnitSystem = "preferred_unit_system"
        case usernameChangedAt = "username_changed_at"
        case usernameChangeCount = "username_change_count"
        case usernameChangeAllowedAt = "username_change_allowed_at"
        case isModerator = "is_moderator"
    }

    /// Decodes the protocol's object.
    ///
    /// - Throws: `DecodingError` if a member is missing.
    public init(from decoder: any Decoder) throws {
        profile = try User(from: decoder)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        email = try members.decodeIfPresent(String.self, forKey: .email)
        phoneNumber = try members.decodeIfPresent(String.self, forKey: .phoneNumber)
        phoneVerified = try members.decode(Bool.self, forKey: .phoneVerified)
        dateOfBirth = try members.decodeIfPresent(CalendarDate.self, forKey: .dateOfBirth)
        preferredUnitSystem = try members.decode(UnitSystem.self, forKey: .preferredUnitSystem)
        preferences = try members.decode([String: JSONValue].self, forKey: .preferences)
        physical = try members.decode(Physical.self, forKey: .physical)
        usernameChangedAt = try members.decodeIfPresent(Date.self, forKey: .usernameChangedAt)
        usernameChangeCount = try members.decode(Int.self, forKey: .usernameChangeCount)
        usernameChangeAllowedAt = try members.decodeIfPresent(Date.self, forKey: .usernameChangeAllowedAt)
        // A store of an earlier version has none.
        isModerator = try members.decodeIfPresent(Bool.self, forKey: .isModerator) ?? false
    }

    /// Encodes the protocol's object.
    public func encode(to encoder: any Encoder) throws {
        try profile.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(email, forKey: .email)
        try members.encode(phoneNumber, forKey: .phoneNumber)
        try members.encode(phoneVerified, forKey: .phoneVerified)
        try members.encode(dateOfBirth, forKey: .dateOfBirth)
        try members.encode(preferredUnitSystem, forKey: .preferredUnitSystem)
        try members.encode(preferences, forKey: .preferences)
        try members.encode(physical, forKey: .physical)
        try members.encode(usernameChangedAt, forKey: .usernameChangedAt)
        try members.encode(usernameChangeCount, forKey: .usernameChangeCount)
        try members.encode(usernameChangeAllowedAt, forKey: .usernameChangeAllowedAt)
        try members.encode(isModerator, forKey: .isModerator)
    }

    /// Returns the data of a guest before the server has told any.
    static func newGuest(_ id: User.ID) -> Me {
        Me(
            User(
                id: id, isVerified: false, isGuest: true, isDeleted: false, attributes: [:],
                version: 0, createdAt: Date(), updatedAt: Date()))
    }

    /// The user's own data with empty private fields.
    init(_ user: User) {
        self.init(
            profile: user, phoneVerified: false, preferredUnitSystem: .metric, preferences: [:], physical: Physical(),
            usernameChangeCount: 0)
    }

    private init(
        profile: User, phoneVerified: Bool, preferredUnitSystem: UnitSystem, preferences: [String: JSONValue],
        physical: Physical, usernameChangeCount: Int
    ) {
        self.profile = profile
        self.phoneVerified = phoneVerified
        self.preferredUnitSystem = preferredUnitSystem
        self.preferences = preferences
        self.physical = physical
        self.usernameChangeCount = usernameChangeCount
        isModerator = false
    }
}
