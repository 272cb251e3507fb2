import DatabaseAccess
import Foundations
import Logging
import Postgres

/// Removes the bytes of files that the database no longer refers to (`sql/functions/app/media.sql`).
struct MediaSweeper: Sendable {
    let store: any MediaStore
    let database: Database
    let logger: Logger

    /// The number of removals that are claimed at a time.
    private static let most = 100
    /// The number of removals in progress. Each takes a connection to the store, which also checks uploads.
    private static let width = 4

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
        let removals = (0..<rows.count).compactMap { row -> Removal? in
            guard let id = rows.text(row, 0).flatMap({ ID($0) }), let purpose = rows.text(row, 1) else { return nil }
            return (id, purpose)
        }
        var removed: [Removal] = []
        await withTaskGroup(of: Removal?.self) { group in
            for (index, removal) in removals.enumerated() {
                if index >= Self.width, case let ended?? = await group.next() { removed.append(ended) }
                group.addTask { await remove(removal) ? removal : nil }
            }
            for await case let ended? in group { removed.append(ended) }
        }
        if !removed.isEmpty {
            _ = try await database.rows(
                Self.completeRemovals,
                [removed.plainArrayLiteral { $0.id }, removed.plainArrayLiteral { $0.purpose }], as: .feed)
        }
        return rows.count
    }

    private typealias Removal = (id: ID, purpose: String)

    /// Removes the bytes. Returns false if the removal must be repeated: it is due again in a minute.
    private func remove(_ removal: Removal) async -> Bool {
        do {
            if let purpose = MediaFile.Purpose(rawValue: removal.purpose) {
                try await store.remove(removal.id, purpose)
            } else if removal.purpose == Self.upload {
                try await store.removeUpload(removal.id)
            } else {
                return false
            }
            return true
        } catch {
            logger.warning("cannot remove a file; retrying", metadata: ["id": "\(removal.id)", "error": "\(error)"])
            return false
        }
    }

    /// Instead of a purpose: a later upload to the address.
    private static let upload = "upload"

    private static let claimRemovals = Statement(
        "app.claim_removals", "select id, purpose from app.claim_removals($1::int)")
    private static let completeRemovals = Statement(
        "app.complete_removals", "select app.complete_removals($1::uuid[], $2::text[])")
}
