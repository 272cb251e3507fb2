/// The digests of the parts of the catalogue that `sql/functions`, `sql/policies.sql` and `sql/bootstrap` define, as
/// `migrate` records them in `app.settings`.
package struct CatalogueDigests: Sendable {
    private let parts: [(name: String, digest: String)]

    /// - Parameter parts: the rows of `DoctorQuestion.catalogue`.
    package init(_ parts: [(String, String)]) {
        self.parts = parts.map { (name: $0.0, digest: $0.1) }
    }

    /// One line a part: `view 0123…`.
    package var text: String { parts.map { "\($0.name) \($0.digest)" }.joined(separator: "\n") }

    /// The titles of the parts that differ from those recorded and that no other check of the doctor's compares.
    ///
    /// Rights, row-level security and roles are compared one by one, with what the operator may change.
    package func differences(from recorded: String) -> [String] {
        let before = Set(recorded.split(separator: "\n"))
        let now = Set(text.split(separator: "\n"))
        return Self.compared.filter { part in
            before.filter { $0.hasPrefix(part.name + " ") } != now.filter { $0.hasPrefix(part.name + " ") }
        }.map(\.title)
    }

    /// By their names in `sql/doctor/catalogue.sql`.
    private static let compared = [
        (name: "code", title: "functions"), (name: "view", title: "views"), (name: "trigger", title: "triggers"),
        (name: "policy", title: "policies"), (name: "disabled", title: "triggers of foreign keys"),
    ]
}
