/// SQL files that a migration has applied together, or a single one.
package struct AppliedFiles: Sendable, CustomStringConvertible {
    /// The title, or the path in `sql/` of a single file.
    package let name: String

    /// The number of files.
    package let count: Int

    /// The paths of files changed since they were last applied; nil if they never were.
    package let changed: [String]?

    /// Beyond this number, files are counted instead of named.
    private static let maxNamed = 5

    package var description: String {
        guard count > 1 else { return name }
        return switch changed {
        case nil, []?: "\(name) (\(count) files)"
        case let changed? where changed.count <= Self.maxNamed:
            "\(name) (\(count) files, of which changed: \(changed.joined(separator: ", ")))"
        case let changed?: "\(name) (\(count) files, of which \(changed.count) changed)"
        }
    }
}

extension AppliedFiles {
    /// - Parameters:
    ///   - files: the applied files.
    ///   - hash: the hash of the previously applied ones; nil if there are none.
    init(_ files: [SQLFile], called name: String, insteadOf hash: String? = nil) {
        self.name = name
        count = files.count
        let before = hash.map { Set($0.split(separator: "\n")) }
        changed = before.map { before in files.filter { !before.contains(Substring($0.hash)) }.map(\.path) }
    }
}
