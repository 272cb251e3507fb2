public import Foundation

/// Reports to the operator's moderators, and how to reach the operator.
extension PostlineClient {
    /// Reports a message. The moderators get the message, the ten before it and both profiles as they are now; its
    /// sender is not told. While an earlier report of the same message is open, no other is made.
    ///
    /// - Parameters:
    ///   - message: A message of another user.
    ///   - reason: The reason.
    ///   - comment: At most 1,000 characters for the moderators.
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `not_found`, `forbidden`
    ///   for one's own message and with 50 open reports, `offline`, `signed_out`.
    public func report(
        _ message: Message, reason: ReportReason, comment: String? = nil
    ) async throws(PostlineError) {
        let seq = try seq(of: message)
        try await report(
            ["conversation_id": .id(message.conversationID), "seq": .integer(seq)], reason: reason, comment: comment)
    }

    /// Reports a user. The moderators get both profiles as they are now; the user is not told. While an earlier report
    /// of the same user is open, no other is made.
    ///
    /// - Parameters:
    ///   - userID: Another user's id.
    ///   - reason: The reason.
    ///   - comment: At most 1,000 characters for the moderators.
    /// - Throws: ``PostlineError``: `not_found`, `forbidden` for oneself and with 50 open reports, `offline`,
    ///   `signed_out`.
    public func report(
        userID: User.ID, reason: ReportReason, comment: String? = nil
    ) async throws(PostlineError) {
        try await report(["user_id": .string(userID.rawValue)], reason: reason, comment: comment)
    }

    private func report(
        _ object: [String: JSONValue], reason: ReportReason, comment: String?
    ) async throws(PostlineError) {
        var params = object
        params["reason"] = .string(reason.rawValue)
        if let comment { params["comment"] = .string(comment) }
        _ = try await currentEngine().call("reports.create", params, as: MadeReport.self)
    }

    /// Returns how users reach the operator: an `https:` or `mailto:` URL, or nil if the operator has set none.
    ///
    /// - Throws: ``PostlineError``: `offline`, `signed_out`.
    public func contactURL() async throws(PostlineError) -> URL? {
        let info = try await currentEngine().call("server.info", [String: String](), as: ServerContact.self)
        return info.contact.flatMap { URL(string: $0) }
    }
}

/// The reason of a report.
public struct ReportReason: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Unwanted messages of the same kind to many.
    public static let spam: Self = "spam"
    /// Insults, threats or harassment.
    public static let abuse: Self = "abuse"
    /// Sexual content.
    public static let sexual: Self = "sexual"
    /// Violence, or a call for it.
    public static let violence: Self = "violence"
    /// Something illegal.
    public static let illegal: Self = "illegal"
    /// Another reason, which the comment says.
    public static let other: Self = "other"
    /// All reasons of this version, in the order to show.
    public static let all: [Self] = [.spam, .abuse, .sexual, .violence, .illegal, .other]
}

/// The answer of `reports.create`.
private struct MadeReport: Decodable, Sendable {
    let id: String
}

/// The operator's contact in the answer of `server.info`.
private struct ServerContact: Decodable, Sendable {
    let contact: String?
}
