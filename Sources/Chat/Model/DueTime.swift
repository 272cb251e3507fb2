import Foundation

/// The time of a scheduled message as it is typed.
enum DueTime: Sendable, Equatable {
    /// A number of minutes from now.
    case after(minutes: Int)
    /// The next time at which the clock of this machine shows it.
    case clock(hour: Int, minute: Int)

    /// Parses `20m`, `3h`, `2d` or `18:30`. Nil for anything else.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let hour = Int(parts[0]), let minute = Int(parts[1]), parts[1].count == 2,
            0...23 ~= hour, 0...59 ~= minute
        {
            self = .clock(hour: hour, minute: minute)
        } else if let minutes = Self.minutes(text) {
            self = .after(minutes: minutes)
        } else {
            return nil
        }
    }

    /// Parses `20m`, `3h` or `2d`, up to 10,000 of them. Nil for anything else.
    static func minutes(_ text: some StringProtocol) -> Int? {
        let units = ["m": 1, "h": 60, "d": 1_440]
        guard let unit = text.last.flatMap({ units[$0.lowercased()] }), let count = Int(text.dropLast()),
            1...10_000 ~= count
        else { return nil }
        return count * unit
    }

    /// Returns the time.
    func date(from now: Date = Date()) -> Date {
        switch self {
        case .after(let minutes): return now.addingTimeInterval(Double(minutes) * 60)
        case .clock(let hour, let minute):
            var seconds = time_t(now.timeIntervalSince1970)
            var local = unsafe tm()
            unsafe localtime_r(&seconds, &local)
            unsafe (local.tm_hour, local.tm_min, local.tm_sec) = (Int32(hour), Int32(minute), 0)
            // mktime finds out whether it is summer time then, and corrects a day beyond the end of the month.
            unsafe local.tm_isdst = -1
            var due = unsafe mktime(&local)
            if due <= seconds {
                unsafe (local.tm_mday, local.tm_isdst) = (local.tm_mday + 1, -1)
                unsafe (local.tm_hour, local.tm_min) = (Int32(hour), Int32(minute))
                due = unsafe mktime(&local)
            }
            return Date(timeIntervalSince1970: Double(due))
        }
    }
}
