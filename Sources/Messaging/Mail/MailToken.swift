internal import Crypto

/// What a mail has, and nobody else: whoever gives it back reads the mail of the address that it was sent to.
///
/// It is made when the mail is sent. The database keeps its hash, for an hour.
struct MailToken: Sendable {
    let text: String

    /// A new one.
    init() {
        let secret = SymmetricKey(size: .bits256)
        text = unsafe secret.withUnsafeBytes { unsafe Array($0) }.hexadecimal
    }

    /// The hash of what is given for one, in hexadecimal digits.
    static func hash(of text: String) -> String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}
