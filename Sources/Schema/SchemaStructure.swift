import WireProtocol

/// The indexes and constraints of the migrations, as `migrate` records them in `app.settings`. A restore may omit some.
///
/// Indexes and constraints that others added are neither recorded nor checked.
package struct SchemaStructure: Sendable, Equatable {
    /// An index or constraint that is missing or invalid.
    package struct Loss: Sendable, Equatable {
        /// The loss as a sentence.
        package let message: String

        /// A sentence with the statements that restore it.
        package let advice: String
    }

    /// A row of `DoctorQuery.structure`.
    package struct Row: Sendable {
        package let name: String
        package let statement: String
        package let isThere: Bool
        let isRecorded: Bool
        let isValid: Bool
        let repair: String

        /// - Parameter text: returns the value of a column by name.
        package init(_ text: (String) -> String?) {
            name = text("name") ?? ""
            statement = text("statement") ?? ""
            isThere = text("is_there") == "t"
            isRecorded = text("is_recorded") == "t"
            isValid = text("is_valid") == "t"
            repair = text("repair") ?? ""
        }
    }

    /// The statements that create them, by name, such as `index public.media_owner_id`.
    private(set) var statements: [String: String]

    /// Creates the structure of a database's indexes and constraints.
    package init(_ rows: [Row]) {
        statements = Dictionary(rows.filter(\.isThere).map { ($0.name, $0.statement) }) { first, _ in first }
    }

    /// - Parameter recorded: the recorded ``text``.
    package init(recorded: String?) {
        let json = recorded.flatMap { try? JSON(parsing: $0) }
        guard case .object(let object)? = json else {
            statements = [:]
            return
        }
        statements = Dictionary(object.members.map { ($0.name, Self.string($0.value)) }) { first, _ in first }
    }

    private static func string(_ value: JSON) -> String { if case .string(let text) = value { text } else { "" } }

    /// The structure as a JSON object.
    package var text: String {
        JSONObject(
            statements.sorted { $0.key < $1.key }.map { JSONObject.Member(name: $0.key, value: .string($0.value)) }
        ).text
    }

    /// Records the objects that a migration created, changed and dropped.
    package mutating func apply(from before: SchemaStructure, to after: SchemaStructure) {
        for (name, statement) in after.statements where before.statements[name] != statement {
            statements[name] = statement
        }
        for name in before.statements.keys where after.statements[name] == nil { statements[name] = nil }
    }

    /// The structure without `auth.users`, which may be Supabase's.
    var withoutAccounts: SchemaStructure {
        var structure = self
        structure.statements = statements.filter {
            !$0.key.hasPrefix("index auth.") && !$0.key.hasSuffix(" on auth.users")
        }
        return structure
    }

    /// Returns the missing and invalid objects: individually, or the missing ones in one sentence if they are many.
    ///
    /// - Parameter rows: the result of `DoctorQuery.structure` with the record.
    package static func losses(_ rows: [Row]) -> [Loss] {
        let missing = rows.filter { $0.isRecorded && !$0.isThere }
        let invalid = rows.filter { $0.isRecorded && $0.isThere && !$0.isValid }.map {
            Loss(message: "The \($0.name) is invalid.", advice: "Run as the owner: \($0.repair);")
        }
        guard missing.count > maxNamed else {
            return missing.map {
                Loss(message: "The \($0.name) is missing.", advice: "Run as the owner: \($0.statement);")
            } + invalid
        }
        let names = missing.prefix(maxNamed).map(\.name).joined(separator: ", ")
        let many = Loss(
            message: "\(missing.count) indexes and constraints are missing, as after a restore of a part of a dump: "
                + "\(names), and \(missing.count - maxNamed) more.",
            advice: "Restore the rest of the dump (pg_restore --section=post-data), or all of it into an empty "
                + "database.")
        return [many] + invalid
    }

    private static let maxNamed = 5
}
