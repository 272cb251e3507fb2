extension Sequence<String> {
    /// The elements as a PostgreSQL array literal, each in quotes.
    package var arrayLiteral: String { "{\(map(\.arrayElement).joined(separator: ","))}" }
}

extension String {
    /// The text as an array element: in quotes, with quotes and backslashes escaped.
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
