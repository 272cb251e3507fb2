import Foundations
import Postline

/// An avatar in a terminal: an initial on the avatar's colour, three cells wide.
///
/// A built-in avatar has the catalogue's colour. A custom or missing avatar has a colour derived from the user's id.
struct AvatarChip: Sendable, Equatable {
    let span: StyledLine.Span

    /// - Parameter id: the user's id, or the group's.
    init(_ avatar: Avatar?, name: String, id: Identifier<some Any>, catalogue: [BuiltInAvatar]) {
        var style = Style(isBold: true)
        if case .builtIn(let avatarID) = avatar,
            let color = catalogue.first(where: { $0.id == avatarID }).flatMap({ RGB(hex: $0.color) })
        {
            style.fill = color
        } else {
            // Letters in the terminal's background colour on the avatar's.
            style.isInverse = true
            style.color = Self.color(of: id)
        }
        let initial = Self.initial(of: name)
        span = .init(text: TextWidth.of(initial) == 2 ? " \(initial)" : " \(initial) ", style: style)
    }

    /// Returns the first letter or digit of a name, in upper case.
    static func initial(of name: String) -> String {
        let first = PlainText.line(name).first { $0.isLetter || $0.isNumber }
        // The upper case of some letters, such as ß, has two.
        guard let initial = first?.uppercased().first, 1...2 ~= TextWidth.of(initial) else { return "?" }
        return String(initial)
    }

    /// Returns a colour that depends only on the id.
    static func color(of id: Identifier<some Any>) -> Style.Color {
        let colors: [Style.Color] = [.yellow, .blue, .magenta, .cyan, .red]
        let sum = id.rawValue.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return colors[Int(sum) % colors.count]
    }
}

extension ChatModel {
    /// Returns a user's current avatar.
    func chip(of userID: User.ID) -> AvatarChip {
        AvatarChip(shown.users[userID]?.avatar, name: shown.name(of: userID), id: userID, catalogue: catalogue)
    }

    /// Returns the other user's avatar, or the initial of a group's title.
    func chip(ofConversation id: Conversation.ID) -> AvatarChip {
        if let conversation = shown.conversation(id), conversation.kind == .direct,
            let other = conversation.members.first(where: { $0.userID != shown.myID })
        {
            return chip(of: other.userID)
        }
        return AvatarChip(nil, name: shown.name(ofConversation: id), id: id, catalogue: catalogue)
    }

    func chip(of person: User) -> AvatarChip {
        AvatarChip(person.avatar, name: person.shownName, id: person.id, catalogue: catalogue)
    }

    /// Returns a preview of the user's initial on that avatar.
    func chip(trying avatar: BuiltInAvatar) -> AvatarChip {
        AvatarChip(
            .builtIn(id: avatar.id), name: shown.me?.profile.shownName ?? avatar.name,
            id: shown.myID ?? User.ID(avatar.id),
            catalogue: catalogue)
    }
}
