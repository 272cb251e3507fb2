/// Finds the name that somebody who wrote another one probably meant.
public enum Suggestion {
    /// Other spellings of a field that apps use, and the protocol's own (`docs/protocol.md`, section 2).
    private static let canonical: [String: String] = [
        "phone": "phone_number", "phoneNumber": "phone_number",
        "displayName": "full_name", "display_name": "full_name", "name": "full_name", "fullName": "full_name",
        "photoURL": "avatar_url", "photo_url": "avatar_url", "profilePicture": "avatar_url",
        "profile_picture_url": "avatar_url", "avatarUrl": "avatar_url",
        "preferredLanguage": "language_code", "language": "language_code",
        "birthdate": "date_of_birth", "birthday": "date_of_birth",
    ]

    /// The canonical name of a param, where `name` is a spelling of one that is taken here.
    static func parameter(for name: String, among parameters: [String]) -> String? {
        if let known = canonical[name], parameters.contains(known) { return known }
        return nearest(to: name, among: parameters)
    }

    /// The candidate that is nearest to `name`: equal but for case and punctuation, or a few letters away.
    public static func nearest(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let folded = letters(of: name)
        let ranked = candidates.map { (candidate: $0, distance: distance(folded, letters(of: $0))) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, folded.count / 3) ? best.candidate : nil
    }

    /// What is left of a name when case and punctuation are not looked at: `userId` and `user_id` are the same.
    private static func letters(of name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
    }

    /// The Levenshtein distance: how many bytes must be put in, taken out or changed.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let substituted = diagonal + (x == y ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}
