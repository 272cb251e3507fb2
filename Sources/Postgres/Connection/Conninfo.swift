import CPostgres

/// A connection string parsed by libpq, with our defaults for what neither it nor the environment sets.
struct Conninfo: Sendable {
    /// The keywords and values to connect with.
    private(set) var parameters: [(keyword: String, value: String)] = []

    /// Parses a URL (`postgresql://…`) or keywords (`host=… dbname=…`).
    ///
    /// - Throws: `connectFailed` if libpq cannot parse it. The message repeats nothing of the string, which may contain
    ///   a password.
    init(_ url: String, applicationName: String) throws(PostgresError) {
        var values: [String: String] = [:]
        var complaint: UnsafeMutablePointer<CChar>?
        guard let options = unsafe PQconninfoParse(url, &complaint) else {
            defer { unsafe PQfreemem(complaint) }
            let mayHoldPassword = url.contains("@") || url.contains("password")
            let reason = unsafe complaint.map { unsafe String(cString: $0).trimmed } ?? "out of memory"
            throw .connectFailed(
                mayHoldPassword
                    ? "the connection string is malformed"
                    : "the connection string is malformed: \(reason)")
        }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        // The list ends with an option without a keyword.
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe values[String(cString: keyword)] = String(cString: value)
            }
            unsafe option += 1
        }
        for (keyword, value) in Self.defaults where values[keyword] == nil { values[keyword] = value }
        if values["fallback_application_name"] == nil { values["fallback_application_name"] = applicationName }
        // All texts are read and written as UTF-8.
        values["client_encoding"] = "UTF8"
        parameters = values.map { (keyword: $0.key, value: $0.value) }
    }

    /// A vanished peer is detected within half a minute: by keepalives while idle, by the user timeout while sending.
    /// TCP only.
    private static let defaults = [
        "keepalives": "1",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "20000",
    ]

    /// Returns the value of a keyword, or nil if neither the string nor the environment has one.
    func value(of keyword: String) -> String? { parameters.first { $0.keyword == keyword }?.value }

    /// Returns a copy with other values of some keywords.
    func replacing(_ others: [(keyword: String, value: String)]) -> Conninfo {
        var conninfo = self
        conninfo.parameters.removeAll { parameter in others.contains { $0.keyword == parameter.keyword } }
        conninfo.parameters += others
        return conninfo
    }

    /// The timeout for each server that the string sets, or nil.
    var connectTimeout: Duration? {
        guard let text = value(of: "connect_timeout"), let seconds = Int(text), seconds > 0 else { return nil }
        return .seconds(seconds)
    }
}
