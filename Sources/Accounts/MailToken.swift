import Crypto
import Foundations

/// A secret token in a mail. Presenting it proves access to the address that the mail was sent to.
///
/// It is created when the mail is sent. The database stores its hash for an hour.
package struct MailToken: Sendable {
    package let text: String

    /// Creates a random token.
    package init() {
        let secret = SymmetricKey(size: .bits256)
        text = unsafe secret.withUnsafeBytes { unsafe Array($0) }.hexadecimal
    }

    /// Returns the hash of a presented token, in hexadecimal digits.
    package static func hash(of text: String) -> String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}
