internal import Postgres

/// A login for which row-level security would not hold: nothing is asked over it.
package struct LoginBypassesRLS: Error, CustomStringConvertible {
    private let login: String

    /// - Parameter login: as a sentence on it begins.
    package init(_ login: String) { self.login = login }

    /// What is the matter with it, for a sentence that goes on with what follows.
    package var matter: String { "\(login) is a superuser, the owner of tables, or bypasses row-level security" }

    package static let advice = "Connect as the role postline, or as a member of its roles."

    package var description: String { "\(matter): no rule would hold for it. \(Self.advice)" }

    /// Asks whether the login is one; every role may.
    static let call = Call(Statement("bypass", DoctorQuestion.bypass.sql))

    /// - Parameter rows: what ``call`` gave.
    static func isTold(by rows: Rows) -> Bool { rows.text(0, 0) == "t" }
}
