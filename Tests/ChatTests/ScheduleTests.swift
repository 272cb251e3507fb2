import Foundation
import Testing

@testable import Chat

@Suite("Chat scheduled messages")
struct ScheduleTests {
    @Test(
        "reads the time and text of /later",
        arguments: [
            ("/later 20m Hello there", TypedLine.later(.after(minutes: 20), "Hello there")),
            ("/later 3h x", .later(.after(minutes: 180), "x")), ("/later 2d x", .later(.after(minutes: 2_880), "x")),
            ("/later 18:30 x", .later(.clock(hour: 18, minute: 30), "x")),
            ("/scheduled", .scheduled), ("/unschedule 2", .unschedule(2)),
        ])
    func reads(line: String, command: TypedLine) {
        #expect(TypedLine(line) == command)
    }

    @Test(
        "explains an incomplete /later",
        arguments: ["/later", "/later 20m", "/later soon x", "/later 24:00 x", "/later 18:3 x", "/later 0m x"])
    func refuses(line: String) {
        #expect(
            TypedLine(line) == .incomplete(usage: "/later TIME TEXT, with a TIME such as 18:30, 20m, 3h or 2d"))
    }

    @Test("a clock time is today's, or tomorrow's if it has passed")
    func clock() {
        let now = Date(timeIntervalSince1970: 1_795_168_800)
        #expect(DueTime.after(minutes: 20).date(from: now) == now.addingTimeInterval(1_200))
        let calendar = Calendar.current
        let (hour, minute) = (calendar.component(.hour, from: now), calendar.component(.minute, from: now))
        let tomorrow = DueTime.clock(hour: hour, minute: minute).date(from: now)
        #expect(tomorrow > now && calendar.component(.hour, from: tomorrow) == hour)
        #expect(tomorrow.timeIntervalSince(now) <= 25 * 3_600)
        let next = DueTime.clock(hour: (hour + 1) % 24, minute: minute).date(from: now)
        #expect(next > now && next.timeIntervalSince(now) <= 2 * 3_600)
    }
}
