package import Foundation

/// The repository that contains the tests.
package enum Repository {
    private static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    /// Returns the URL of a path from the repository's root.
    package static func url(_ path: String) -> URL { root.appending(path: path) }

    /// Returns a file's text.
    package static func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

    /// Returns the paths of all files with an ending below a directory, from the repository's root.
    package static func files(in directory: String, endingIn ending: String) -> [String] {
        let below = FileManager.default.enumerator(atPath: url(directory).path) ?? .init()
        return below.compactMap { $0 as? String }.filter { $0.hasSuffix(".\(ending)") }.map { "\(directory)/\($0)" }
    }
}
