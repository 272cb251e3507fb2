/// A mail address (RFC 5321, 4.1.2: a dot-string at a host) with an optional name.
///
/// No part of it can end the line of a header or command, or have another meaning there.
package struct MailAddress: Sendable, Equatable {
    package let address: String

    /// The name, or nil.
    package let name: String?

    /// Parses `address` or `Name <address>`. Nil if the text is neither.
    package init?(_ text: String) {
        let text = text.trimmed
        if text.hasSuffix(">"), let open = text.lastIndex(of: "<") {
            var name = String(text[..<open]).trimmed
            if name.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") {
                name = String(name.dropFirst().dropLast())
            }
            guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                return nil
            }
            self.name = name.isEmpty ? nil : name
            address = String(text[text.index(after: open)...].dropLast())
        } else {
            name = nil
            address = text
        }
        guard Self.isPlain(address) else { return nil }
    }

    /// The part after the `@`.
    package var domain: String {
        String(address[address.index(after: address.lastIndex(of: "@") ?? address.startIndex)...])
    }

    private static func isPlain(_ address: String) -> Bool {
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, address.utf8.count <= 254, parts[0].utf8.count <= 64 else { return false }
        func isDotted(_ part: Substring, _ isTaken: (UInt8) -> Bool) -> Bool {
            part.split(separator: ".", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0.utf8.allSatisfy(isTaken)
            }
        }
        return isDotted(parts[0]) { $0.isLetterOrDigit || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }
            && isDotted(parts[1]) { $0.isLetterOrDigit || $0 == 0x2D } && isHost(parts[1])
    }

    /// Returns true if all labels have a valid length without a hyphen at either end, and the last is not a number.
    private static func isHost(_ domain: Substring) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        return labels.allSatisfy { $0.utf8.count <= 63 && !$0.hasPrefix("-") && !$0.hasSuffix("-") }
            && labels.last?.utf8.allSatisfy { (0x30...0x39).contains($0) } == false
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        let rest = drop { $0 == " " }
        guard let last = rest.lastIndex(where: { $0 != " " }) else { return "" }
        return String(rest[...last])
    }
}
