/// The schema that this binary's SQL files define, as far as it can be parsed from them.
package enum ExpectedSchema {
    /// The tables that must have row-level security, such as `public.messages`.
    package static let tables: [String] =
        lines
        .filter { $0.first == "alter" && $0.suffix(4) == ["enable", "row", "level", "security;"] }
        .compactMap { $0.dropLast(4).last }

    /// The required policies, such as `member_select on public.messages`.
    package static let policies = Set(
        lines.filter { $0.starts(with: ["create", "policy"]) && $0.count > 4 }.map { "\($0[2]) on \($0[4])" })

    /// The granted rights, such as `anon may select on public.messages`, `authenticated may update (title) on
    /// public.conversations`, `postline_feed may call feed.*`.
    package static var rights: Set<String> {
        var rights: Set<String> = []
        for statement in statements where statement.hasPrefix("grant ") && !statement.contains(" on schema ") {
            guard let on = statement.firstRange(of: " on "), let to = statement.firstRange(of: " to ") else { continue }
            let verbs = list(statement[..<on.lowerBound].dropFirst("grant ".count)).flatMap(expandingColumns)
            let objects = list(statement[on.upperBound..<to.lowerBound]).map(name)
            for role in list(statement[to.upperBound...]) {
                for object in objects {
                    rights.formUnion(
                        verbs.map { "\(role) may \($0 == "execute" ? "call" : "\($0) on") \(object)" })
                }
            }
        }
        return rights
    }

    /// Splits `update (a, b)` into two rights.
    private static func expandingColumns(_ verb: String) -> [String] {
        guard let open = verb.firstIndex(of: "("), verb.last == ")" else { return [verb] }
        return list(verb[open...].dropFirst().dropLast()).map { "\(verb[..<open])(\($0))" }
    }

    /// Returns an object's name in a right: a function without arguments, or a star for all functions of a schema.
    private static func name(_ object: String) -> String {
        let words = object.split(separator: " ")
        if words.starts(with: ["all", "functions", "in", "schema"]), words.count == 5 { return "\(words[4]).*" }
        let name = words.first == "function" ? words.dropFirst().joined(separator: " ") : object
        return String(name.prefix { $0 != "(" })
    }

    /// Splits at commas outside parentheses.
    private static func list(_ text: Substring) -> [String] {
        var parts = [""]
        var depth = 0
        for character in text {
            if character == "(" { depth += 1 } else if character == ")" { depth -= 1 }
            if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts.map { String($0.drop { $0 == " " }) }
    }

    /// The statements of `policies.sql`, each on one line, including those in function bodies.
    private static var statements: [String] {
        lines.filter { $0.first?.hasPrefix("--") != true }.joined().joined(separator: " ").split(separator: ";")
            .map { String($0.drop { $0 == " " }) }
    }

    /// The words of each line of `policies.sql`.
    private static var lines: [[String]] {
        SQLFile.files(in: "policies.sql").flatMap { $0.text.split(separator: "\n") }
            .map { $0.split(separator: " ").map(String.init) }
    }
}
