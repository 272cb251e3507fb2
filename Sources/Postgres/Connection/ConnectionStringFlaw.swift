/// What is wrong with a connection string whatever the server is: with it no attempt to connect can come to anything.
public enum ConnectionStringFlaw: Sendable, Hashable {
    /// libpq cannot take it apart: neither a URL nor keywords, or with a keyword that libpq does not have.
    case malformed

    /// A keyword whose value is none that libpq takes, such as `port`. The value is not told: it may be a part of a
    /// password that was taken for something else.
    case value(keyword: String)

    /// The flaw of a connection string; nil where it has none that shows before connecting.
    public init?(in url: String) {
        guard let parameters = try? Conninfo(url, applicationName: "").parameters else {
            self = .malformed
            return
        }
        for (keyword, value) in parameters where !Self.isUsable(value, for: keyword) {
            self = .value(keyword: keyword)
            return
        }
        return nil
    }

    /// libpq itself finds these out when it connects.
    private static func isUsable(_ value: String, for keyword: String) -> Bool {
        switch keyword {
        // One of each host; an empty one is the default.
        case "port":
            value.split(separator: ",", omittingEmptySubsequences: false)
                .allSatisfy { $0.isEmpty || Int($0).map { (1...65_535).contains($0) } ?? false }
        case "connect_timeout": value.isEmpty || Int(value) != nil
        case "sslmode":
            value.isEmpty || ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"].contains(value)
        default: true
        }
    }
}
