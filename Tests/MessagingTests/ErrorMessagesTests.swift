import Foundation
import TestSupport
import Testing
import WireProtocol

/// Tests of the error messages in the sources.
@Suite("Error messages")
struct ErrorMessagesTests {
    private static let service = ["WireProtocol", "DatabaseAccess", "Accounts", "ChangeFeed", "Messaging"].map {
        "Sources/\($0)"
    }

    @Test("are sentences", .covers("A28"))
    func sentences() throws {
        let swift = try Self.texts(
            of: [
                /ProtocolError\(\s*\.\w+,\s*"((?:[^"\\]|\\.)*)"/, /rateLimited\(\s*"((?:[^"\\]|\\.)*)"/,
                /Item\(invalid: "((?:[^"\\]|\\.)*)"/, /self\.init\(invalid: "((?:[^"\\]|\\.)*)"/,
                /Goodbye\(\s*\.\w+,\s*"((?:[^"\\]|\\.)*)"/,
            ], inFilesOf: Self.service + ["Sources/LineServer"], endingIn: "swift"
        ).map { $0.replacing(#"\""#, with: "\"") }
        let sql = try Self.texts(
            of: [
                /refuse_param\([^,']*(?:'\w+')?,\s*(?:pg_catalog\.format\()?'((?:[^']|'')*)'/,
                /refuse_(?:hidden|forbidden)\(\s*'((?:[^']|'')*)'/, /message = '((?:[^']|'')*)'/,
            ], inFilesOf: ["sql/functions"], endingIn: "sql")
        #expect(swift.count >= 30)
        #expect(sql.count >= 80)
        for text in swift + sql {
            // A message may begin with an interpolation such as `\(refusal)`, which the tests of Params check.
            let start = text.hasPrefix("\\(") || text.first == "\"" || text.first?.isUppercase == true
            #expect(start, "“\(text)”")
            #expect(text.last.map { ".? )".contains($0) } == true, "“\(text)”")
        }
    }

    @Test("about a param continue its quoted name")
    func params() throws {
        let texts = try Self.texts(
            of: [/\binvalid\(\s*[^"\n]*?(?:"\w+")?,\s*"((?:[^"\\]|\\.)*)"/], inFilesOf: Self.service,
            endingIn: "swift")
        #expect(texts.count >= 20)
        for text in texts {
            #expect(text.first?.isLowercase == true && text.last != ".", "“\(text)”")
        }
    }

    /// Returns the first capture of each match.
    private static func texts(
        of patterns: [Regex<(Substring, Substring)>], inFilesOf directories: [String], endingIn ending: String
    ) throws -> [String] {
        try directories.flatMap { Repository.files(in: $0, endingIn: ending) }.map(Repository.text).flatMap { text in
            patterns.flatMap { text.matches(of: $0).map { String($0.1) } }
        }
    }
}
