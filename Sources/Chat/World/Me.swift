internal import LineClient
internal import Messaging

/// What the user sees of itself, whole.
struct Me: Sendable, Equatable {
    let person: Person
    let isGuest: Bool
    let email: String?
    /// From when on the username may be changed again; nil where it never was.
    let usernameChangeAllowedAt: String?
    private let json: JSON

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let person = Person(json) else { return nil }
        self.person = person
        self.json = json
        isGuest = json["is_guest"]?.booleanValue ?? false
        email = json["email"]?.stringValue
        usernameChangeAllowedAt = json["username_change_allowed_at"]?.stringValue
    }

    /// What it is about, and what there is; nil where nothing is set.
    struct Fact: Sendable, Equatable {
        let label: String
        let value: String?
    }

    /// Everything in it, in the order to read it.
    var facts: [Fact] {
        [
            Fact(label: "name", value: person.fullName),
            Fact(label: "username", value: person.username),
            Fact(label: "account", value: isGuest ? "a guest; /upgrade EMAIL keeps it" : email),
            Fact(label: "avatar", value: avatar),
            Fact(label: "bio", value: text("bio")),
            Fact(label: "website", value: text("website")),
            Fact(label: "location", value: text("location")),
            Fact(label: "language", value: text("language_code")),
            Fact(label: "phone", value: phone),
            Fact(label: "born", value: text("date_of_birth")),
            Fact(label: "sex", value: json["physical"]?["biological_sex"]?.stringValue),
            Fact(label: "height", value: number("height_cm").map { "\($0) cm" }),
            Fact(label: "units", value: text("preferred_unit_system")),
            Fact(label: "preferences", value: object("preferences")),
            Fact(label: "attributes", value: object("attributes")),
            Fact(label: "verified", value: json["is_verified"]?.booleanValue == true ? "yes" : "no"),
            Fact(label: "renamed", value: usernameChanges),
            Fact(label: "since", value: text("created_at").flatMap(WireTime.init)?.day),
            Fact(label: "id", value: person.id),
            Fact(label: "version", value: "\(person.version)"),
        ]
    }

    private var avatar: String? {
        switch person.avatar {
        case .none: nil
        case .builtIn(let id): id
        case .custom(let url): url
        }
    }

    private var phone: String? {
        let isVerified = json["phone_verified"]?.booleanValue == true
        return text("phone_number").map { "\($0), \(isVerified ? "verified" : "not verified")" }
    }

    private var usernameChanges: String? {
        guard let count = json["username_change_count"]?.integerValue, count > 0 else { return nil }
        let last = text("username_changed_at").flatMap(WireTime.init)?.day ?? "?"
        let next = usernameChangeAllowedAt.flatMap(WireTime.init)?.day ?? "now"
        return "\(count) \(count == 1 ? "time" : "times"), last on \(last); again from \(next) on"
    }

    private func text(_ name: String) -> String? { json[name]?.stringValue }

    private func number(_ name: String) -> String? {
        guard case .number(let number)? = json["physical"]?[name] else { return nil }
        return number.text
    }

    private func object(_ name: String) -> String? {
        guard let object = json[name]?.objectValue, !object.members.isEmpty else { return nil }
        return object.text
    }
}
