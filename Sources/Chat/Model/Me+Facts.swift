internal import Foundation
internal import PostlineClient

/// A label with its value, or nil if it is not set.
struct Fact: Sendable, Equatable {
    let label: String
    let value: String?
}

extension Me {
    /// All fields, in reading order.
    var facts: [Fact] {
        [
            Fact(label: "name", value: profile.fullName),
            Fact(label: "username", value: profile.username),
            Fact(label: "account", value: profile.isGuest ? "a guest; /upgrade EMAIL keeps it" : email),
            Fact(label: "avatar", value: profile.avatarID ?? profile.avatarURL),
            Fact(label: "bio", value: profile.bio),
            Fact(label: "website", value: profile.website),
            Fact(label: "location", value: profile.location),
            Fact(label: "language", value: profile.languageCode),
            Fact(
                label: "phone", value: phoneNumber.map { "\($0), \(phoneVerified ? "verified" : "not verified")" }),
            Fact(label: "born", value: dateOfBirth?.description),
            Fact(label: "sex", value: physical.biologicalSex?.rawValue),
            Fact(label: "height", value: physical.heightCM.map { "\(Self.text($0)) cm" }),
            Fact(label: "units", value: preferredUnitSystem.rawValue),
            Fact(label: "preferences", value: Self.text(preferences)),
            Fact(label: "attributes", value: Self.text(profile.attributes)),
            Fact(label: "verified", value: profile.isVerified ? "yes" : "no"),
            Fact(label: "renamed", value: usernameChanges),
            Fact(label: "since", value: WallTime(profile.createdAt).day),
            Fact(label: "id", value: id),
            Fact(label: "version", value: "\(profile.version)"),
        ]
    }

    private var usernameChanges: String? {
        guard usernameChangeCount > 0 else { return nil }
        let last = usernameChangedAt.map { WallTime($0).day } ?? "?"
        let next = usernameChangeAllowedAt.map { WallTime($0).day } ?? "now"
        let count = usernameChangeCount == 1 ? "1 time" : "\(usernameChangeCount) times"
        return "\(count), last on \(last); again from \(next) on"
    }

    private static func text(_ number: Double) -> String {
        Int(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    private static func text(_ object: [String: JSONValue]) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard !object.isEmpty, let json = try? encoder.encode(object) else { return nil }
        return String(decoding: json, as: UTF8.self)
    }
}
