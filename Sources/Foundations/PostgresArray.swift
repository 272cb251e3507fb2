// Arrays as PostgreSQL writes and reads them (PostgreSQL manual, section 8.15).

extension Sequence {
    /// Returns the array literal of values that need no quotes, such as numbers and UUIDs. Nil becomes `null`.
    package func plainArrayLiteral<Value: CustomStringConvertible>(_ value: (Element) -> Value?) -> String {
        "{\(map { value($0)?.description ?? "null" }.joined(separator: ","))}"
    }
}

extension Sequence<String> {
    /// The array literal of the texts, each in quotes.
    package var arrayLiteral: String { "{\(map(\.arrayElement).joined(separator: ","))}" }
}

extension String {
    /// The text as an array element: in quotes, with quotes and backslashes escaped.
    package var arrayElement: String {
        var element = "\""
        element.reserveCapacity(utf8.count + 2)
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { element.unicodeScalars.append("\\") }
            element.unicodeScalars.append(scalar)
        }
        element += "\""
        return element
    }

    /// The elements of an array of values without quotes: `{a,b}`.
    package var arrayElements: [Substring] { dropFirst().dropLast().split(separator: ",") }
}
