import FoundationEssentials
import Foundations

/// A mail with its texts.
struct MailMessage: Sendable {
    let order: MailOrder
    let from: MailAddress
    let subject: String
    let text: String

    /// The link to the app's page, or nil.
    let link: String?

    /// Returns the mail as it is sent (RFC 5322, RFC 2045), as UTF-8 text.
    ///
    /// - Parameter date: the date of sending.
    func bytes(to address: MailAddress, at date: Date) -> [UInt8] {
        let isPlain = Self.isPlain(text)
        let headers = [
            ("Date", Self.text(of: date)),
            ("From", Self.mailbox(from, after: "From: ".utf8.count)), ("To", address.address),
            ("Subject", Self.encoded(subject, after: "Subject: ".utf8.count)),
            // The same if it is sent again, so that mail programs show it once.
            ("Message-ID", "<\(order.id)@\(from.domain)>"), ("Auto-Submitted", "auto-generated"),
            ("MIME-Version", "1.0"), ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Transfer-Encoding", isPlain ? "7bit" : "quoted-printable"),
        ]
        let body = isPlain ? Self.lines(of: text).map { $0 + "\r\n" }.joined() : Self.quotedPrintable(text)
        return Array((headers.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body).utf8)
    }

    private static func lines(of text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Returns true if the text can be sent unencoded, with links intact in the mail's source.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 == 0x0A || 0x20...0x7E ~= $0 } && lines(of: text).allSatisfy { $0.utf8.count <= 900 }
    }

    /// RFC 2045, 6.7.
    static func quotedPrintable(_ text: String) -> String {
        var encoded = ""
        for line in lines(of: text) {
            var length = 0
            let bytes = Array(line.utf8)
            for (index, byte) in bytes.enumerated() {
                let isLast = index == bytes.count - 1
                let isSafe = 0x21...0x7E ~= byte && byte != 0x3D || byte == 0x20 && !isLast
                let piece = isSafe ? String(UnicodeScalar(byte)) : "=" + [byte].hexadecimal.uppercased()
                if length + piece.utf8.count > 75 {
                    encoded += "=\r\n"
                    length = 0
                }
                encoded += piece
                length += piece.utf8.count
            }
            encoded += "\r\n"
        }
        return encoded
    }

    /// Returns an address with its name, quoted or in encoded words. The address gets its own line if it does not fit.
    ///
    /// - Parameter used: the bytes before it on the line.
    static func mailbox(_ address: MailAddress, after used: Int) -> String {
        guard let name = address.name.map(withoutControls) else { return address.address }
        let isPlain = name.utf8.allSatisfy { 0x20...0x7E ~= $0 }
        let phrase =
            isPlain
            ? "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
            : encodedWords(name, after: used)
        let lastLine = phrase.utf8.reversed().prefix { $0 != 0x0A }.count
        let isFolded = phrase.utf8.contains(0x0A)
        let length = (isFolded ? 0 : used) + lastLine + 3 + address.address.utf8.count
        return phrase + (length > maxLine ? "\r\n <" : " <") + address.address + ">"
    }

    /// Returns a header's text, in encoded words if necessary.
    ///
    /// - Parameter used: the bytes before it on the line.
    static func encoded(_ text: String, after used: Int) -> String {
        let text = withoutControls(text)
        let isPlain = used + text.utf8.count <= maxLine && text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
        return isPlain && !text.contains("=?") ? text : encodedWords(text, after: used)
    }

    /// The maximum length of a line with an encoded word, without its end (RFC 2047, section 2).
    private static let maxLine = 76

    private static func withoutControls(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    /// Returns a text in encoded words (RFC 2047), each of whole characters on its own line.
    private static func encodedWords(_ text: String, after used: Int) -> String {
        // A word has 12 bytes of overhead, and Base64 turns 3 bytes into 4. A continuation line begins with a space.
        func room(after used: Int) -> Int { (maxLine - used - 12) / 4 * 3 }
        var words: [String] = []
        var piece: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if piece.count + bytes.count > room(after: words.isEmpty ? used : 1) {
                words.append(Data(piece).base64EncodedString())
                piece = []
            }
            piece += bytes
        }
        words.append(Data(piece).base64EncodedString())
        return words.map { "=?utf-8?B?\($0)?=" }.joined(separator: "\r\n ")
    }

    /// RFC 5322, 3.3.
    static func text(of date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
        func number(_ value: Int?) -> String { (value ?? 0) < 10 ? "0\(value ?? 0)" : "\(value ?? 0)" }
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(days[(parts.weekday ?? 1) - 1]), \(parts.day ?? 0) \(months[(parts.month ?? 1) - 1]) "
            + "\(parts.year ?? 0) \(number(parts.hour)):\(number(parts.minute)):\(number(parts.second)) +0000"
    }
}
