#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// An instant of the protocol (RFC 3339, UTC) as the clock on the wall shows it.
struct WireTime {
    /// Such as `09:05`.
    let clock: String
    /// Such as `Friday 20 November 2026`.
    let day: String

    /// In the time zone of this machine; nil where the text is no such instant.
    init?(_ text: String) {
        guard let seconds = Self.secondsSince1970(text) else { return nil }
        var time = time_t(seconds)
        // A struct of ours; only its numbers are read, never the pointer to the zone's name.
        var local = unsafe tm()
        guard unsafe localtime_r(&time, &local) != nil else { return nil }
        clock = unsafe "\(Self.two(local.tm_hour)):\(Self.two(local.tm_min))"
        let weekday = unsafe Self.weekdays[Int(local.tm_wday) % 7]
        let month = unsafe Self.months[Int(local.tm_mon) % 12]
        day = unsafe "\(weekday) \(local.tm_mday) \(month) \(1900 + local.tm_year)"
    }

    /// The whole seconds since 1970 of `2026-11-20T10:00:00.000000Z`.
    static func secondsSince1970(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), bytes.last == UInt8(ascii: "Z") else { return nil }
        func number(_ from: Int, _ count: Int) -> Int? {
            var value = 0
            for byte in bytes[from..<(from + count)] {
                guard 0x30...0x39 ~= byte else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), 1...12 ~= month
        else { return nil }
        // Days since 1970, counting years from March so that the leap day is a year's last.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
