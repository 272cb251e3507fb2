/// What this binary's SQL files make of a database, as far as it can be read off them.
public enum ExpectedSchema {
    /// The tables that must have row-level security: `public.messages`.
    public static var tables: [String] {
        lines.filter { $0.first == "alter" && $0.suffix(4) == ["enable", "row", "level", "security;"] }
            .compactMap { $0.dropLast(4).last }
    }

    /// The policies that must be there: `member_select on public.messages`.
    public static var policies: Set<String> {
        Set(
            lines.filter { $0.starts(with: ["create", "policy"]) && $0.count > 4 }
                .map { "\($0[2]) on \($0[4])" })
    }

    /// The words of each line of `policies.sql`.
    private static var lines: [[String]] {
        SQLFile.files(in: "policies.sql").flatMap { $0.text.split(separator: "\n") }
            .map { $0.split(separator: " ").map(String.init) }
    }
}
