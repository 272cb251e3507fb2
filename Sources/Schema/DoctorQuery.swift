/// A read-only statement that `postline doctor` runs, from `sql/doctor/`.
package enum DoctorQuery: String, CaseIterable, Sendable {
    case server, login, roles, rights, excess, tables, policies, ledger, owner, slots, durability, log, upkeep, horizon
    case replica, bypass, obstacles, owners, catalogue, session, pictures, structure, recorded

    package var sql: String { SQLFile.files(in: "doctor/\(rawValue).sql").first?.sql ?? "" }

    /// True if the statement takes the names of our tables (`ExpectedSchema.tables`) as its one parameter.
    package var hasTablesParameter: Bool {
        switch self {
        case .login, .rights, .excess, .tables, .policies, .upkeep, .owners, .catalogue, .structure: true
        case .server, .roles, .ledger, .owner, .slots, .durability, .log, .horizon, .replica, .bypass,
            .obstacles, .session, .pictures, .recorded:
            false
        }
    }
}
