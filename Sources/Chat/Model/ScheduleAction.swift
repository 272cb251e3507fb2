import Foundation
import Postline

/// An action on the user's scheduled messages. All need the server.
enum ScheduleAction: Sendable, Equatable {
    case add(Conversation.ID, content: String, at: DueTime, details: MessageDetails)
    case list(Conversation.ID)
    /// Removes the message of that number in the list, from 1.
    case remove(Conversation.ID, number: Int)
}

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
        } else if let unit = text.last.flatMap({ ["m": 1, "h": 60, "d": 1_440][$0.lowercased()] }),
            let count = Int(text.dropLast()), 1...10_000 ~= count
        {
            self = .after(minutes: count * unit)
        } else {
            return nil
        }
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
