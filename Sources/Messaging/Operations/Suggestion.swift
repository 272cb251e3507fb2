/// Finds the name that somebody who wrote another one probably meant.
public enum Suggestion {
    /// A param as the protocol names it.
    struct Parameter: Equatable {
        /// With its path where it is a member of an object, such as `avatar.avatar_url`.
        let name: String

        /// The method that takes it; nil where it is the one that was called.
        var method: String?
    }

    /// The param that was probably meant: one of this method, or else one of the user's own data that another method
    /// takes.
    ///
    /// - Parameter parent: the param in which the name stands; nil where it stands among the params.
    static func parameter(for name: String, in parent: String? = nil, of operation: Operation) -> Parameter? {
        guard name.utf8.count <= 64 else { return nil }
        let letters = letters(of: name)
        let known = spellings[String(decoding: letters, as: UTF8.self)] ?? []
        // Where it stands, then wherever else this method takes something.
        for object in [parent, nil] + operation.objects.map(Optional.some) {
            let names = operation.names(in: object)
            let path = object.map { "\($0)." } ?? ""
            // In `avatar` a `type` is the avatar's.
            let full = object == parent ? Self.letters(of: path) + letters : letters
            if let meant = names.first(where: { [letters, full].contains(Self.letters(of: $0)) })
                ?? known.first(where: names.contains)
            {
                return Parameter(name: path + meant)
            }
        }
        if operation.method.hasPrefix("me.") || operation.method.hasPrefix("auth.") {
            for (method, parameters) in homes {
                let there = parameters.first { known.contains($0) || Self.letters(of: $0) == letters }
                if let there { return Parameter(name: there, method: method) }
            }
        }
        let path = Params.path(in: parent)
        return nearest(to: name, among: operation.names(in: parent)).map { Parameter(name: path + $0) }
    }

    /// The method that was probably meant: what is done by another word, or a name that is nearly it.
    static func method(for name: String, among methods: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let parts = name.split(separator: ".", maxSplits: 1)
        if parts.count == 2, let words = verbs[parts[1].lowercased()],
            let meant = words.lazy.map({ "\(parts[0].lowercased()).\($0)" }).first(where: methods.contains)
        {
            return meant
        }
        return nearest(to: name, among: methods)
    }

    /// What elsewhere does what a method does, and what that may be called here.
    private static let verbs: [String: [String]] = [
        "create": ["send", "open", "register"], "post": ["send", "open"], "new": ["send", "open"],
        "add": ["send", "open"], "insert": ["send", "open"], "start": ["open"],
        "fetch": ["list", "get"], "read": ["list", "get"], "load": ["list", "get"], "get": ["list"],
        "put": ["update", "edit"], "patch": ["update", "edit"], "change": ["update", "edit"],
        "remove": ["delete"], "signin": ["login"], "signup": ["register"], "signout": ["logout"],
    ]

    /// What apps call a param (`docs/protocol.md`, section 2), by its letters, and what it may be called here.
    private static let spellings: [String: [String]] = [
        "phone": ["phone_number"],
        "name": ["full_name", "title"], "displayname": ["full_name"], "firstname": ["full_name"],
        "lastname": ["full_name"],
        "avatar": ["avatar_url"], "photo": ["avatar_url", "attachment"], "photourl": ["avatar_url", "attachment"],
        "picture": ["avatar_url", "attachment"], "image": ["avatar_url", "attachment"],
        "imageurl": ["avatar_url", "attachment"],
        "profilepicture": ["avatar_url"], "profilepictureurl": ["avatar_url"], "profileimage": ["avatar_url"],
        "language": ["language_code"], "preferredlanguage": ["language_code"],
        "birthdate": ["date_of_birth"], "birthday": ["date_of_birth"],
        "sex": ["biological_sex"], "height": ["height_cm"], "unitsystem": ["preferred_unit_system"],
        "newusername": ["username"], "username": ["email"], "login": ["email"], "oldpassword": ["current_password"],
        "token": ["access_token", "refresh_token"], "jwttoken": ["access_token"],
        "convid": ["conversation_id"],
        "participant": ["user_id"], "participantid": ["user_id"], "participants": ["member_ids", "user_ids"],
        "members": ["member_ids", "user_ids"],
        "text": ["content"], "message": ["content"], "body": ["content"], "gender": ["biological_sex"], "q": ["query"],
        "lastmessage": ["content"],
    ]

    /// Which method sets what of the user's own data: those that are told which version of it they change.
    private static let homes = Operation.me.filter { $0.parameters.contains("if_version") }.map { operation in
        (method: operation.method, parameters: operation.parameters.names.filter { $0 != "if_version" })
    }

    /// Returns the candidate that is nearest to `name`: equal but for case and punctuation, or a third of its letters away.
    public static func nearest(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let folded = letters(of: name)
        let most = max(1, folded.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let letters = letters(of: candidate)
            // The distance is that of the lengths at least.
            guard abs(letters.count - folded.count) <= min(most, (best?.distance ?? .max) - 1) else { continue }
            let distance = distance(folded, letters)
            if distance <= most, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// What is left of a name when case and punctuation are not looked at: `userId` and `user_id` are the same.
    private static func letters(of name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
    }

    /// The edit distance: the number of bytes to insert, delete, change, or swap with the next one.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var former: [Int] = []
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var next = [i + 1]
            for (j, y) in b.enumerated() {
                var best = min(row[j] + (x == y ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, x == b[j - 1], y == a[i - 1] { best = min(best, former[j - 1] + 1) }
                next.append(best)
            }
            (former, row) = (row, next)
        }
        return row[b.count]
    }
}
