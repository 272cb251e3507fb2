/// The avatar to draw for a user: the user's picture, else the built-in avatar, else the initials.
public enum Avatar: Sendable, Hashable {
    /// The picture at this https URL.
    case custom(url: String)
    /// The server's built-in avatar with this id (``PostlineClient/builtInAvatars()``). An app may have
    /// no picture for it: ``User/avatar(builtInIDs:)`` never returns such an id.
    case builtIn(id: String)
    /// At most two letters on a background colour that never changes for the user.
    case initials(String, color: AvatarColor)

    init(_ profile: User) {
        if profile.avatarType == .custom, let url = profile.avatarURL {
            self = .custom(url: url)
        } else if profile.avatarType == .builtIn, let id = profile.avatarID {
            self = .builtIn(id: id)
        } else {
            self = .initials(of: profile)
        }
    }

    static func initials(of profile: User) -> Avatar {
        .initials(initials(of: profile.displayName), color: AvatarColor(of: profile.id))
    }

    /// Returns the upper-case first letters of the first and the last word, or an empty string without letters or
    /// digits.
    static func initials(of name: String?) -> String {
        let words = (name ?? "").split { !$0.isLetter && !$0.isNumber }
        let ends = words.count > 1 ? [words[0], words[words.count - 1]] : words
        return ends.compactMap(\.first).map { $0.uppercased() }.joined()
    }
}

/// A background colour for white initials.
public struct AvatarColor: Sendable, Hashable {
    /// A component from 0 to 255.
    public let red, green, blue: UInt8

    /// Picks the colour by the id. It is the same on every device and in every version.
    init(of id: User.ID) {
        // FNV-1a, because `hashValue` differs between processes.
        let hash = id.rawValue.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        (red, green, blue) = Self.palette[Int(hash % UInt32(Self.palette.count))]
    }

    private static let palette: [(UInt8, UInt8, UInt8)] = [
        (0xB0, 0x3A, 0x2E), (0xA0, 0x4E, 0x00), (0x7A, 0x5C, 0x00), (0x4B, 0x6B, 0x1F), (0x1E, 0x74, 0x4B),
        (0x0B, 0x6F, 0x78), (0x1F, 0x61, 0xA8), (0x4A, 0x4F, 0xB5), (0x7D, 0x3C, 0x98), (0xA6, 0x2F, 0x6B),
    ]
}

/// A built-in avatar of the server.
public struct BuiltInAvatar: Sendable, Hashable, Codable, Identifiable {
    /// The id, for ``ProfileEdit/AvatarChoice/builtIn(id:)``.
    public let id: String
    /// The name to show to users.
    public let name: String
    /// The colour as `#RRGGBB`.
    public let color: String

    /// The ids of Postline's standard avatars. A server may have others
    /// (``PostlineClient/builtInAvatars()``).
    public static let standardIDs: Set<String> = [
        "fox", "otter", "owl", "panda", "whale", "turtle", "bee", "flamingo", "hedgehog", "penguin", "koala", "dragon",
        "blue_circle", "red_circle", "green_circle", "orange_circle", "yellow_circle", "purple_circle", "pink_circle",
        "teal_circle", "brown_circle", "gray_circle", "black_circle", "white_circle",
    ]
}
