import Foundation

/// An instant in the time zone of this machine.
struct WallTime {
    /// The time, such as `09:05`.
    let clock: String
    /// The date, such as `Friday 20 November 2026`.
    let day: String

    /// Both, such as `09:05 on Friday 20 November 2026`.
    var clockAndDay: String { "\(clock) on \(day)" }

    init(_ date: Date) {
        var time = time_t(date.timeIntervalSince1970)
        // Only the numbers are read, never the pointer to the zone's name.
        var local = unsafe tm()
        unsafe localtime_r(&time, &local)
        clock = unsafe "\(Self.two(local.tm_hour)):\(Self.two(local.tm_min))"
        let weekday = unsafe Self.weekdays[Int(local.tm_wday) % 7]
        let month = unsafe Self.months[Int(local.tm_mon) % 12]
        day = unsafe "\(weekday) \(local.tm_mday) \(month) \(1900 + local.tm_year)"
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
