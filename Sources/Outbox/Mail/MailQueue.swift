import Accounts
package import DatabaseAccess
import Foundations
import Postgres

/// The mail queue in the database (`sql/functions/app/mails.sql`).
package struct MailQueue: Sendable {
    private let database: Database

    /// - Parameter database: the service's database, which must run as long as the queue is used.
    package init(database: Database) { self.database = database }

    /// Leases due mails, and creates their tokens.
    ///
    /// Each is due again in four minutes unless settled.
    ///
    /// - Throws: the database's error.
    package func leaseDue(limit: Int) async throws -> [MailOrder] {
        let tokens = (0..<limit).map { _ in MailToken() }
        let byHash = Dictionary(
            tokens.map { (MailToken.hash(of: $0.text), $0.text) }, uniquingKeysWith: { first, _ in first })
        let rows = try await database.rows(
            Self.leaseDueStatement, [byHash.keys.plainArrayLiteral { $0 }], as: .accounts)
        return (0..<rows.count).compactMap { MailOrder(rows, $0, tokens: byHash) }
    }

    /// Records the outcomes of mails, also after others have leased them again.
    ///
    /// - Throws: the database's error.
    package func settle(_ outcomes: [(order: MailOrder, outcome: MailOutcome)]) async throws {
        func array(_ value: (MailOrder, MailOutcome) -> String) -> String {
            outcomes.plainArrayLiteral { value($0.order, $0.outcome) }
        }
        _ = try await database.rows(
            Self.settleStatement,
            [
                array { order, _ in "\(order.id)" }, array { order, _ in "\(order.attempts)" },
                array { _, outcome in outcome.storedName },
                // PostgreSQL cannot store a NUL.
                array { _, outcome in outcome.reason.replacing("\0", with: "").arrayElement },
                array { _, outcome in "\(outcome.retry / .milliseconds(1) / 1_000)" },
            ], as: .accounts)
    }

    private static let leaseDueStatement = Statement(
        "accounts.claim_mails",
        "select id, kind, email, user_id, locale, attempts, token_hash from accounts.claim_mails($1::text[])")
    private static let settleStatement = Statement(
        "accounts.record_mail_results",
        "select accounts.record_mail_results($1::uuid[], $2::int[], $3::text[], $4::text[], $5::float8[])")
}

extension MailOrder {
    /// Nil for an invalid row.
    fileprivate init?(_ rows: Rows, _ row: Int, tokens: [String: String]) {
        guard let id = rows.id(row, 0), let kind = rows.text(row, 1).flatMap({ Kind(rawValue: $0) }),
            let email = rows.text(row, 2), let user = rows.id(row, 3)
        else { return nil }
        self.init(
            id: id, kind: kind, email: email, user: user, locale: rows.text(row, 4),
            token: rows.text(row, 6).flatMap { tokens[$0] }, attempts: rows.text(row, 5).flatMap { Int($0) } ?? 0)
    }
}

extension MailOutcome {
    /// The name in metrics and logs.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .deferred: "deferred"
        case .abandoned: "abandoned"
        }
    }

    /// The name in the database.
    fileprivate var storedName: String {
        switch self {
        case .accepted: "taken"
        case .rejected: "refused"
        case .deferred: "later"
        case .abandoned: "given_up"
        }
    }

    fileprivate var reason: String {
        switch self {
        case .accepted: ""
        case .rejected(let why), .deferred(let why, _), .abandoned(let why): why
        }
    }

    fileprivate var retry: Duration {
        if case .deferred(_, let after) = self { after ?? .zero } else { .zero }
    }
}
