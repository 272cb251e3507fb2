import Foundations
import Postline

extension ScheduledMessage {
    /// The time at which it is sent, in words.
    var time: String {
        let time = WallTime(dueAt)
        return "\(time.clock) on \(time.day)"
    }

    /// The message in one line, after its time, or the reason why it was not sent.
    var row: String { PlainText.line("\(error.map { "not sent: \($0.message)" } ?? time) · \(content)") }
}
