public import Foundation
import Synchronization

extension PostlineError: LocalizedError {
    /// Returns the app's own sentence for an error, such as a translated one, or nil for the package's. Set it at
    /// launch.
    ///
    ///     PostlineError.customSentence = { texts[$0.code] }
    public static var customSentence: (@Sendable (PostlineError) -> String?)? {
        get { sentences.withLock { $0 } }
        set { sentences.withLock { $0 = newValue } }
    }

    private static let sentences = Mutex<(@Sendable (PostlineError) -> String?)?>(nil)

    /// A sentence to show to the user: that of ``customSentence``, or else an English one, chosen by the code.
    /// ``message`` is for the log.
    ///
    /// For unknown codes and `invalid_request` it is the message.
    public var errorDescription: String? {
        if let sentence = Self.customSentence?(self) { return sentence }
        return switch code {
        case .invalidParams, .clientIDReused: Self.invalid(field)
        case .lineTooLong: "This is too long to send."
        case .unknownMethod: "The server is too old for this version of the app."
        case .parseError, .invalidUTF8, .internalError, .malformedAnswer:
            "Something went wrong at the server. Try again later."
        case .unauthenticated, .signedOut: "You are not signed in."
        case .invalidCredentials where field != nil: "The password is wrong."
        case .invalidCredentials: "The email address or the password is wrong."
        case .invalidToken where field == "token": "This link is invalid or has expired. Request a new mail."
        case .invalidToken, .tokenExpired, .sessionRevoked: "Your session has ended. Sign in again."
        case .forbidden: "You are not allowed to do this."
        case .notFound: "This does not exist any more, or you cannot see it."
        case .usernameTaken: "This username is taken."
        case .usernameCooldown: "Your username was changed recently and cannot be changed again yet."
        case .emailTaken: "An account with this email address exists already."
        case .contentRefused: "This text has a word that is not allowed here."
        case .accountSuspended: "Your account is suspended."
        case .emailUnconfirmed: "Confirm your email address first, by the link in the mail that was sent to you."
        case .versionConflict: "This was changed elsewhere in the meantime. Try again."
        case .rateLimited: "Too many attempts. \(Self.again(after: retryAfter))"
        case .unavailable, .timeout: "The server is busy. \(Self.again(after: retryAfter))"
        case .offline: "There is no connection to the server."
        case .cancelled: "This was cancelled."
        case .notTrusted: "The server is not trusted, or is not a Postline server."
        case .storeUnusable: "The data on this device cannot be read or written. Check the free storage."
        case .notSent: "This message is not sent yet."
        case .fileTooLarge: "This file is too large."
        case .outboxFull: "Too many files wait to be sent. Try again when there is a connection."
        default: message
        }
    }

    private static func invalid(_ field: String?) -> String {
        // Such as `full_name`, `avatar.avatar_id`, or `attachments[0]`.
        guard let last = field?.split(separator: ".").last else { return "A value is missing or cannot be used." }
        let name = last.prefix { $0 != "[" } + (last.contains("[") ? "[]" : "")
        if let rule = rules[String(name)] { return rule }
        return "This value is missing or cannot be used: \(last.replacing("_", with: " "))."
    }

    /// The rules of fields that users fill in.
    private static let rules = [
        "password": "A password has at least 8 characters, and at most 72 of the Latin alphabet.",
        "new_password": "A password has at least 8 characters, and at most 72 of the Latin alphabet.",
        "content": "A message has 1 to 8,000 characters.",
        "title": "A name of a group has 1 to 100 characters.",
        "full_name": "A name has 1 to 100 characters.",
        "email": "This is not an email address.",
        "bio": "A description has at most 500 characters.",
        "username": "A username has 3 to 30 of a to z, 0 to 9, _ and ., and begins with a letter.",
        "location": "A location has at most 100 characters.",
        "website": "A website is an address that begins with https:// and has at most 2,048 characters.",
        "query": "Type 2 to 50 characters.",
        "attachments": "A message can have 1 to 10 files.",
        "attachments[]": "This file cannot be read, or is empty. Choose it again.",
        "bytes": "This file is too large for the server.",
        "picture": "This is not a picture that can be sent. Choose a JPEG, PNG, WebP, GIF or HEIC file.",
        "due_at": "Choose a time in the future, within a year.",
    ]

    private static func again(after seconds: Double?) -> String {
        guard let seconds, let whole = Int(exactly: seconds.rounded(.up)), whole > 0 else { return "Try again later." }
        if whole < 60 { return whole == 1 ? "Try again in a second." : "Try again in \(whole) seconds." }
        let minutes = whole / 60 + (whole % 60 == 0 ? 0 : 1)
        return minutes == 1 ? "Try again in a minute." : "Try again in \(minutes) minutes."
    }
}
