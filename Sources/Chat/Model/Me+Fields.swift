import Foundation
import Postline

/// A label with its value, or nil if it is not set.
struct ProfileField: Sendable, Equatable {
    let label: String
    let value: String?
}

extension Me {
    /// All fields, in reading order.
    var fields: [ProfileField] {
        [
            ProfileField(label: "name", value: profile.fullName),
            ProfileField(label: "username", value: profile.username),
            ProfileField(label: "account", value: profile.isGuest ? "a guest; /upgrade EMAIL keeps it" : email),
            ProfileField(label: "avatar", value: profile.avatarID ?? profile.avatarURL),
            ProfileField(label: "bio", value: profile.bio),
            ProfileField(label: "website", value: profile.website),
            ProfileField(label: "location", value: profile.location),
            ProfileField(label: "language", value: profile.languageCode),
            ProfileField(
                label: "phone", value: phoneNumber.map { "\($0), \(phoneVerified ? "verified" : "not verified")" }),
            ProfileField(label: "born", value: dateOfBirth?.description),
            ProfileField(label: "sex", value: physical.biologicalSex?.rawValue),
            ProfileField(label: "height", value: physical.heightCM.map { "\(Self.text($0)) cm" }),
            ProfileField(label: "units", value: preferredUnitSystem.rawValue),
            ProfileField(label: "preferences", value: Self.text(preferences)),
            ProfileField(label: "attributes", value: Self.text(profile.attributes)),
            ProfileField(label: "verified", value: profile.isVerified ? "yes" : "no"),
            ProfileField(label: "renamed", value: usernameChanges),
            ProfileField(label: "since", value: WallTime(profile.createdAt).day),
            ProfileField(label: "id", value: id.rawValue),
            ProfileField(label: "version", value: "\(profile.version)"),
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
