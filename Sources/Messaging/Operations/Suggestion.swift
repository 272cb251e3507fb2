/// Suggests a name for an unknown method or param.
package enum Suggestion {
    /// A suggested param.
    struct ParameterMatch: Equatable {
        /// The name, with the path of a member of an object, such as `avatar.avatar_url`.
        let name: String

        /// The method that has the param, or nil for the called method.
        var method: String?
    }

    /// Returns the suggestion for an unknown param: a param of this method, or one of the user's own data that another
    /// method sets.
    ///
    /// - Parameter parent: the param that contains the name, or nil for the params themselves.
    static func parameter(for name: String, in parent: String? = nil, of operation: Operation) -> ParameterMatch? {
        guard name.utf8.count <= 64 else { return nil }
        let letters = letters(of: name)
        let known = parameterSynonyms[String(decoding: letters, as: UTF8.self)] ?? []
        // Searches the same object first, then the other objects of this method.
        for object in [parent, nil] + operation.objects.map(Optional.some) {
            let names = operation.names(in: object)
            let path = object.map { "\($0)." } ?? ""
            // In `avatar`, `type` also means `avatar_type`.
            let full = object == parent ? Self.letters(of: path) + letters : letters
            if let meant = names.first(where: { [letters, full].contains(Self.letters(of: $0)) })
                ?? known.first(where: names.contains)
            {
                return ParameterMatch(name: path + meant)
            }
        }
        if operation.method.hasPrefix("me.") || operation.method.hasPrefix("auth.") {
            for (method, parameters) in profileMethods {
                let match = parameters.first { known.contains($0) || Self.letters(of: $0) == letters }
                if let match { return ParameterMatch(name: match, method: method) }
            }
        }
        let path = Params.path(in: parent)
        return nearest(to: name, among: operation.names(in: parent)).map { ParameterMatch(name: path + $0) }
    }

    /// Returns the suggestion for an unknown method: one with a synonymous verb or a similar name.
    static func method(for name: String, among methods: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let parts = name.split(separator: ".", maxSplits: 1)
        if parts.count == 2, let words = methodSynonyms[parts[1].lowercased()],
            let meant = words.lazy.map({ "\(parts[0].lowercased()).\($0)" }).first(where: methods.contains)
        {
            return meant
        }
        return nearest(to: name, among: methods)
    }

    /// The verbs of other systems' methods, with their equivalents here.
    private static let methodSynonyms: [String: [String]] = [
        "create": ["send", "open", "register"], "post": ["send", "open"], "new": ["send", "open"],
        "add": ["send", "open"], "insert": ["send", "open"], "start": ["open"],
        "fetch": ["list", "get"], "read": ["list", "get"], "load": ["list", "get"], "get": ["list"],
        "put": ["update", "edit"], "patch": ["update", "edit"], "change": ["update", "edit"],
        "remove": ["delete"], "signin": ["login"], "signup": ["register"], "signout": ["logout"],
    ]

    /// The names that apps use for params (`docs/protocol.md`, section 2), by ``letters(of:)``, with those here.
    private static let parameterSynonyms: [String: [String]] = [
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

    /// The methods that set the user's own data, with their params: those that have `if_version`.
    private static let profileMethods = Operation.me.filter { $0.parameters.contains("if_version") }.map { operation in
        (method: operation.method, parameters: operation.parameters.names.filter { $0 != "if_version" })
    }

    /// Returns the candidate nearest to the name, or nil if none is equal without case and punctuation or within an
    /// edit distance of a third of its letters.
    package static func nearest(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let folded = letters(of: name)
        let maxDistance = max(1, folded.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let letters = letters(of: candidate)
            // The difference of the lengths is a lower bound of the distance.
            guard abs(letters.count - folded.count) <= min(maxDistance, (best?.distance ?? .max) - 1) else { continue }
            let distance = distance(folded, letters)
            if distance <= maxDistance, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// Returns a name without case and punctuation: `userId` and `user_id` have the same letters.
    private static func letters(of name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
    }

    /// Returns the edit distance: the number of bytes to insert, delete, change, or swap with the next.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var previous: [Int] = []
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var next = [i + 1]
            for (j, y) in b.enumerated() {
                var best = min(row[j] + (x == y ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, x == b[j - 1], y == a[i - 1] { best = min(best, previous[j - 1] + 1) }
                next.append(best)
            }
            (previous, row) = (row, next)
        }
        return row[b.count]
    }
}
