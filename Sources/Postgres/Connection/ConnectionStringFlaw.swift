/// An error in a connection string that makes every connection attempt fail.
package enum ConnectionStringFlaw: Sendable, Hashable {
    /// libpq cannot parse it: it is neither a URL nor keywords, or contains an unknown keyword.
    case malformed

    /// The value of a keyword such as `port` is invalid. The value is not included, since it may be part of a misplaced
    /// password.
    case value(keyword: String)

    /// Returns the error of a connection string, or nil if none is visible before connecting.
    package init?(in url: String) {
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

    /// libpq detects these errors when it connects.
    private static func isUsable(_ value: String, for keyword: String) -> Bool {
        switch keyword {
        // One for each host; an empty one is the default.
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
