/// The digests of the parts of the catalogue that `sql/functions`, `sql/policies.sql` and `sql/bootstrap` define, as
/// `migrate` records them in `app.settings`.
package struct CatalogueDigests: Sendable {
    private let parts: [(name: String, digest: String)]

    /// - Parameter parts: the rows of `DoctorQuery.catalogue`.
    package init(_ parts: [(String, String)]) {
        self.parts = parts.map { (name: $0.0, digest: $0.1) }
    }

    /// A line per part, such as `view 0123…`.
    package var text: String { parts.map { "\($0.name) \($0.digest)" }.joined(separator: "\n") }

    /// Returns the titles of parts that differ from the recorded ones and that no other check of `doctor` compares.
    ///
    /// Rights, row-level security and roles are compared individually, since the operator may change some of them.
    package func differences(from recorded: String) -> [String] {
        let before = Set(recorded.split(separator: "\n"))
        let now = Set(text.split(separator: "\n"))
        return Self.compared.filter { part in
            before.filter { $0.hasPrefix(part.name + " ") } != now.filter { $0.hasPrefix(part.name + " ") }
        }.map(\.title)
    }

    /// The compared parts, by their names in `sql/doctor/catalogue.sql`.
    private static let compared = [
        (name: "code", title: "functions"), (name: "view", title: "views"), (name: "trigger", title: "triggers"),
        (name: "policy", title: "policies"), (name: "disabled", title: "triggers of foreign keys"),
    ]
}
