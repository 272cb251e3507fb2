public import Foundation

/// The repository that the tests stand in.
public enum Repository {
    private static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    /// A file or a folder, by its path from the repository's root on.
    public static func url(_ path: String) -> URL { root.appending(path: path) }

    /// Returns the text of a file.
    public static func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

    /// The paths of all such files below a folder, from the repository's root on.
    public static func files(in directory: String, endingIn ending: String) -> [String] {
        let below = FileManager.default.enumerator(atPath: url(directory).path) ?? .init()
        return below.compactMap { $0 as? String }.filter { $0.hasSuffix(".\(ending)") }.map { "\(directory)/\($0)" }
    }
}
