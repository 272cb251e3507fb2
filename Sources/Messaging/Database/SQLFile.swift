internal import Crypto

/// A file of `sql/`, part of the binary.
struct SQLFile: Sendable {
    /// Its path in `sql/`.
    let path: String
    let text: String

    /// What an edit changes: the SHA-256 of the text, in hexadecimal.
    var hash: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }

    /// What the server is sent: all but psql's own commands, whose lines begin with a backslash.
    var sql: String {
        text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("\\") }.joined(
            separator: "\n")
    }

    /// Its name without folder and ending.
    var name: String {
        String(path.split(separator: "/").last?.dropLast(".sql".count) ?? "")
    }

    /// The files of a folder, or one file, in the order of their names.
    static func files(in path: String) -> [SQLFile] {
        embedded.filter { $0.path == path || $0.path.hasPrefix(path + "/") }.sorted { $0.path < $1.path }
    }
}

extension SQLFile {
    /// All functions, schema by schema, in the order in which EmbedFiles gives them: what one is made of stands before it.
    static let functions = embedded.filter { $0.path.hasPrefix("functions/") }

    /// Stands for all that this binary applies: sixteen hexadecimal digits.
    static let signature: String = {
        let all = files(in: "bootstrap") + files(in: "migrations") + functions + files(in: "policies.sql")
        return String(SHA256.hash(data: Array(all.hash.utf8)).hexadecimal.prefix(16))
    }()
}

extension [SQLFile] {
    /// What an edit of one of them changes, or one more or less.
    var hash: String { map(\.hash).joined(separator: "\n") }
}
