import Foundation
@testable import Outbox
import Testing

/// Header lines with encoded words (E27).
@Suite("Mail headers")
struct MailHeaderTests {
    private static let texts = [
        "Your code", "", String(repeating: "a", count: 67), String(repeating: "a", count: 68),
        String(repeating: "a", count: 998), String(repeating: "ä", count: 21), String(repeating: "ä", count: 400),
        "Grüße", String(repeating: "漢字", count: 60), String(repeating: "👩‍👩‍👧‍👦", count: 30),
        String(repeating: "e\u{301}", count: 90), "=?utf-8?B?YQ==?=", "a\r\nBcc: x@example.com", "ä\tb\u{7F}c",
        "Bestätigen Sie Ihre E-Mail-Adresse für Postline, bitte, noch heute", String(repeating: "aä", count: 44),
    ]

    @Test(
        "folds encoded subjects at 76 bytes, and keeps the text",
        arguments: texts)
    func subject(_ text: String) throws {
        let lines = try lines("Subject: " + MailMessage.encoded(text, after: 9))
        #expect(try read(lines, from: "Subject: ") == plain(text))
    }

    @Test("folds encoded sender names at 76 bytes", arguments: texts)
    func sender(_ name: String) throws {
        let local = String(repeating: "l", count: 60)
        for address in ["a@example.com", "\(local)@\(local).example.com", "\(local)@\(local).\(local).\(local)"] {
            guard let sender = MailAddress("\(name) <\(address)>") else { continue }
            let lines = try lines("From: " + MailMessage.mailbox(sender, after: 6))
            let text = lines.joined()
            #expect(text.hasSuffix(sender.name == nil ? " \(address)" : " <\(address)>"))
            // Within quotes it is no encoded word (RFC 2047, section 5).
            guard let shown = sender.name, text.contains("=?utf-8?"), !text.hasPrefix("From: \"") else { continue }
            let words = text.dropLast(address.utf8.count + 3)
            #expect(try read([String(words)], from: "From: ") == plain(shown))
        }
    }

    @Test("a sender's address has a host name")
    func hosts() {
        let long = String(repeating: "x", count: 63)
        for address in ["a@x-.de", "a@-x.de", "a@x.-y", "a@\(long)x.de", "a@x.1", "a@1.2.3.4", "a@x..de", "a@x."] {
            #expect(MailAddress(address) == nil, "\(address)")
        }
        for address in ["a@x-y.de", "a@1.de", "a@\(long).de", "a@localhost"] {
            #expect(MailAddress(address)?.address == address)
        }
    }

    /// Returns the lines of a header, and checks their limits.
    private func lines(_ header: String) throws -> [String] {
        let lines = header.components(separatedBy: "\r\n")
        for (index, line) in lines.enumerated() {
            #expect(!line.contains("=?utf-8?") || line.utf8.count <= 76, "\(line)")
            #expect(line.utf8.count <= 1_100 && line.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "\(line)")
            #expect(index == 0 || line.hasPrefix(" ") && !line.allSatisfy { $0 == " " })
        }
        return lines
    }

    /// Returns the text that a mail program shows: adjacent encoded words are one text.
    private func read(_ lines: [String], from name: String) throws -> String {
        let text = lines.joined().dropFirst(name.utf8.count)
        guard text.hasPrefix("=?utf-8?B?") else { return String(text) }
        return try text.split(separator: " ").map { word in
            #expect(word.utf8.count <= 75)
            let data = try #require(Data(base64Encoded: String(word.dropFirst(10).dropLast(2))))
            return try #require(String(validating: data, as: UTF8.self))
        }.joined()
    }

    private func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
