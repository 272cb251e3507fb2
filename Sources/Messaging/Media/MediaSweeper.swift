import DatabaseAccess
import Foundations
import Logging
import Postgres

/// Removes the bytes of files that the database no longer refers to (`sql/functions/app/media.sql`).
struct MediaSweeper: Sendable {
    let store: any MediaStore
    let database: Database
    let logger: Logger

    /// The number of files removed at a time.
    private static let most = 100

    /// Runs until it is cancelled.
    func run() async {
        var rounds = 0
        while !Task.isCancelled {
            do {
                // Many are removed one after another without pausing.
                while try await removeDue() == Self.most {}
                if rounds.isMultiple(of: 60) { try await store.tidy() }
            } catch is CancellationError {
                return
            } catch {
                // The database may be closed before the cancellation arrives.
                if Task.isCancelled { return }
                logger.warning("cannot remove files; retrying", metadata: ["error": "\(error)"])
            }
            rounds += 1
            try? await Task.sleep(for: .seconds(.random(in: 4...6)))
        }
    }

    private func removeDue() async throws -> Int {
        let rows = try await database.rows(Self.claimRemovals, ["\(Self.most)"], as: .feed)
        var removed: [(id: ID, purpose: String)] = []
        for row in 0..<rows.count {
            guard let id = rows.text(row, 0).flatMap({ ID($0) }), let purpose = rows.text(row, 1) else { continue }
            do {
                if let purpose = MediaFile.Purpose(rawValue: purpose) {
                    try await store.remove(id, purpose)
                } else if purpose == Self.upload {
                    try await store.removeUpload(id)
                } else {
                    continue
                }
                removed.append((id, purpose))
            } catch {
                // The removal is due again in a minute.
                logger.warning("cannot remove a file; retrying", metadata: ["id": "\(id)", "error": "\(error)"])
            }
        }
        if !removed.isEmpty {
            _ = try await database.rows(
                Self.completeRemovals,
                [removed.plainArrayLiteral { $0.id }, removed.plainArrayLiteral { $0.purpose }], as: .feed)
        }
        return rows.count
    }

    /// Instead of a purpose: a later upload to the address.
    private static let upload = "upload"

    private static let claimRemovals = Statement(
        "app.claim_removals", "select id, purpose from app.claim_removals($1::int)")
    private static let completeRemovals = Statement(
        "app.complete_removals", "select app.complete_removals($1::uuid[], $2::text[])")
}
