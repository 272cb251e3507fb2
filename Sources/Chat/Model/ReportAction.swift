import Postline

/// A report of a message or a user. It needs the server.
enum ReportAction: Sendable, Equatable {
    case message(Message, ReportReason, comment: String?)
    case user(GroupAction.Who, ReportReason, comment: String?)
}
