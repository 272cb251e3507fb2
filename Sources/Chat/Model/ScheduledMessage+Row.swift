import Foundations
import Postline

extension ScheduledMessage {
    /// The time at which it is sent, in words.
    var time: String { WallTime(dueAt).clockAndDay }

    /// The message in one line, after its time, or the reason why it was not sent.
    var row: String { PlainText.line("\(error.map { "not sent: \($0.message)" } ?? time) · \(content)") }
}
