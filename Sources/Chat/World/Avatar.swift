internal import LineClient
internal import Messaging

/// A user's avatar: just one shape at a time.
enum Avatar: Sendable, Equatable {
    case none
    case builtIn(id: String)
    case custom(url: String)

    /// The avatar of a Profile, a Me, or the `sender` of a message.
    init(_ json: JSON) {
        if let id = json["avatar_id"]?.stringValue {
            self = .builtIn(id: id)
        } else if let url = json["avatar_url"]?.stringValue {
            self = .custom(url: url)
        } else {
            self = .none
        }
    }
}

/// One of the avatars that the server offers.
struct BuiltInAvatar: Sendable, Equatable {
    let id: String
    let name: String
    let color: RGB

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let id = json["id"]?.stringValue, let color = json["color"]?.stringValue.flatMap(RGB.init(hex:)) else {
            return nil
        }
        self.id = id
        name = json["name"]?.stringValue ?? id
        self.color = color
    }
}
