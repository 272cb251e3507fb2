/// What a migration of the database has applied: a file, or several that are applied together.
public struct AppliedFiles: Sendable, CustomStringConvertible {
    /// What they are; of one file its path in `sql/`.
    public let name: String

    /// How many there are.
    public let count: Int

    /// The paths of those that are not as they were when they were last applied; nil where they never were.
    public let changed: [String]?

    /// More names than this say no more than their number.
    private static let mostNamed = 5

    public var description: String {
        guard count > 1 else { return name }
        return switch changed {
        case nil, []?: "\(name) (\(count) files)"
        case let changed? where changed.count <= Self.mostNamed:
            "\(name) (\(count) files, of which changed: \(changed.joined(separator: ", ")))"
        case let changed?: "\(name) (\(count) files, of which \(changed.count) changed)"
        }
    }
}

extension AppliedFiles {
    /// - Parameters:
    ///   - files: those that were applied.
    ///   - hash: that of those which were applied before; nil where none were.
    init(_ files: [SQLFile], called name: String, insteadOf hash: String? = nil) {
        self.name = name
        count = files.count
        let before = hash.map { Set($0.split(separator: "\n")) }
        changed = before.map { before in files.filter { !before.contains(Substring($0.hash)) }.map(\.path) }
    }
}
