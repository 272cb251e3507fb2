extension Sequence<String> {
    /// The text of a PostgreSQL array of them, each in quotes.
    package var arrayLiteral: String { "{\(map(\.arrayElement).joined(separator: ","))}" }
}

extension String {
    /// An element of the text of a PostgreSQL array: in quotes, with a backslash before each quote and backslash.
    var arrayElement: String {
        var element = "\""
        element.reserveCapacity(utf8.count + 2)
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { element.unicodeScalars.append("\\") }
            element.unicodeScalars.append(scalar)
        }
        element += "\""
        return element
    }
}
