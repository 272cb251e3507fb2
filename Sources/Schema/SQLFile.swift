import Crypto
import Foundations

/// A file of `sql/`, embedded in the binary.
struct SQLFile: Sendable {
    /// The path in `sql/`.
    let path: String
    let text: String

    /// The SHA-256 of the text, in hexadecimal.
    var hash: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }

    /// The SQL without psql's own commands, whose lines begin with a backslash.
    var sql: String {
        text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("\\") }.joined(
            separator: "\n")
    }

    /// The name without folder and extension.
    var name: String {
        String(path.split(separator: "/").last?.dropLast(".sql".count) ?? "")
    }

    /// Returns the files of a folder, or a file, in the order of their names.
    static func files(in path: String) -> [SQLFile] {
        embedded.filter { $0.path == path || $0.path.hasPrefix(path + "/") }.sorted { $0.path < $1.path }
    }
}

extension SQLFile {
    /// All functions, by schema, in the order of EmbedFiles: dependencies first.
    static let functions = embedded.filter { $0.path.hasPrefix("functions/") }

    /// A signature of everything that this binary applies: sixteen hexadecimal digits.
    static let signature: String = {
        let all = files(in: "bootstrap") + files(in: "migrations") + functions + files(in: "policies.sql")
        return String(SHA256.hash(data: Array(all.hash.utf8)).hexadecimal.prefix(16))
    }()
}

extension [SQLFile] {
    /// A text that changes when a file is edited, added or removed.
    var hash: String { map(\.hash).joined(separator: "\n") }
}
