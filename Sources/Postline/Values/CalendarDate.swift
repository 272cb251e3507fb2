/// A date without a time and a time zone, such as a birthday.
public struct CalendarDate: Sendable, Hashable, Codable, Comparable, CustomStringConvertible, LosslessStringConvertible
{
    /// The year in the Gregorian calendar.
    public var year: Int
    /// The month, 1 to 12.
    public var month: Int
    /// The day, 1 to 31.
    public var day: Int

    /// Creates a date without validation. The server refuses dates that do not exist.
    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Parses `YYYY-MM-DD`. Returns nil for other text.
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2],
            1...12 ~= month, 1...31 ~= day
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Decodes `YYYY-MM-DD`.
    ///
    /// - Throws: `DecodingError` for other text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let date = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date")
        }
        self = date
    }

    /// Encodes the date as `YYYY-MM-DD`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// The date as `YYYY-MM-DD`.
    public var description: String {
        func padded(_ number: Int, _ count: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// Returns true if the left date is before the right one.
    public static func < (left: Self, right: Self) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}
