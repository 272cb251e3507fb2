package import Postgres

/// A login that bypasses row-level security, which is refused.
package struct LoginBypassesRLS: Error, CustomStringConvertible {
    private let login: String

    /// - Parameter login: the beginning of a sentence about it.
    package init(_ login: String) { self.login = login }

    /// The reason, for a sentence that continues.
    package var reason: String { "\(login) is a superuser, the owner of tables, or bypasses row-level security" }

    package static let advice = "Connect as the role postline, or as a member of its roles."

    package var description: String { "\(reason): row-level security would not apply to it. \(Self.advice)" }

    /// A query for it, which every role may run.
    package static let call = Call(Statement("bypass", DoctorQuery.bypass.sql))

    /// - Parameter rows: the result of ``call``.
    package static func isReported(by rows: Rows) -> Bool { rows.text(0, 0) == "t" }
}
