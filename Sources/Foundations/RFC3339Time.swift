/// A point in time that a client gives in RFC 3339, with nanosecond precision. Different texts of one time are equal.
///
/// The grammar is that of `app.checked_time`: from 1970 to 9999 in UTC, with a leap second at the end of a month.
/// Digits beyond nanoseconds are ignored.
package struct RFC3339Time: Equatable, Sendable {
    /// Whole seconds since 1970. A leap second equals the following second.
    package let seconds: Int64
    package let nanoseconds: Int

    /// Parses a time such as `2026-11-20T10:00:00.5+01:00`.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        var rest = Substring(text).utf8
        guard let year = rest.popNumber(4), rest.pop("-"), let month = rest.popNumber(2), rest.pop("-"),
            let day = rest.popNumber(2), rest.pop("T") || rest.pop("t"),
            let hour = rest.popNumber(2), rest.pop(":"), let minute = rest.popNumber(2), rest.pop(":"),
            let second = rest.popNumber(2), let nanoseconds = rest.popFraction(), let offset = rest.popOffset(),
            rest.isEmpty, (1970...9999).contains(year), (1...12).contains(month), hour < 24, minute < 60, second <= 60
        else { return nil }
        let (first, next) = (Self.days(to: year, month), Self.days(to: year, month + 1))
        guard (1...(next - first)).contains(day) else { return nil }
        let minutes = ((first + day - 1) * 24 + hour) * 60 + minute - offset
        let seconds = minutes * 60 + second
        // A leap second must be followed by the first minute of a month in UTC. An offset moves the date by at most a
        // day.
        guard second < 60 || [first, next].contains(where: { $0 * 1_440 == minutes + 1 }) else { return nil }
        guard seconds >= 0, seconds < Self.days(to: 10_000, 1) * 86_400 else { return nil }
        self.seconds = Int64(seconds)
        self.nanoseconds = nanoseconds
    }

    /// Returns the days from 1970 to the first of a month. Month 13 is the next January.
    private static func days(to year: Int, _ month: Int) -> Int {
        let (year, month) = month > 12 ? (year + 1, month - 12) : (year, month)
        let leapDays = { (year: Int) in year / 4 - year / 100 + year / 400 }
        let isLeapYear = leapDays(year) > leapDays(year - 1)
        let lengths = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (year - 1970) * 365 + leapDays(year - 1) - leapDays(1969) + lengths.prefix(month - 1).reduce(0, +)
    }
}

extension Substring.UTF8View {
    /// Removes a character from the beginning and returns true, or returns false if it is not there.
    fileprivate mutating func pop(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Removes and returns a number with this many digits, or returns nil if it is not there.
    fileprivate mutating func popNumber(_ digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let byte = popFirst(), byte.isDigit else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }

    /// Removes the fraction of a second and returns its nanoseconds: 0 without a fraction, nil for a point without
    /// digits.
    fileprivate mutating func popFraction() -> Int? {
        guard pop(".") else { return 0 }
        let digits = prefix(while: \.isDigit)
        guard !digits.isEmpty else { return nil }
        removeFirst(digits.count)
        let counted = digits.prefix(9).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return (Swift.min(digits.count, 9)..<9).reduce(counted) { number, _ in number * 10 }
    }

    /// Removes the offset from UTC and returns it in minutes, or returns nil if it is not there.
    fileprivate mutating func popOffset() -> Int? {
        if pop("Z") || pop("z") { return 0 }
        let isWest = pop("-")
        guard isWest || pop("+"), let hours = popNumber(2), pop(":"), let minutes = popNumber(2) else { return nil }
        guard hours < 24, minutes < 60 else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}
