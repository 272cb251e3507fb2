import ChangeFeed
import DatabaseAccess
import Foundations
import Logging
import Metrics
import NIOCore
import Postgres
import WireProtocol

/// Appends pieces to messages that stream, those that arrive while others are in flight in one transaction.
///
/// A batch waits for no lock of a message. The pieces that it cannot append are appended individually by their clients,
/// and get their own errors. If PostgreSQL rejects a batch, nothing of it was written, and each piece is appended
/// individually.
struct PieceBatcher: Sendable {
    /// A piece of one client.
    struct Piece: Sendable {
        let sender: ID
        let conversation: ID?
        let seq: String?
        let start: String?
        let content: String

        /// The parameters of `api.append_to_message`.
        var parameters: [String?] { [conversation?.description, seq, start, content] }
    }

    /// The most bytes of a piece in a batch, so that large ones do not make small ones wait.
    static let maxPieceBytes = 2_048

    private static let maxBatchSize = 64

    private let appends: RequestCoalescer<Piece, ByteBuffer?>

    /// - Parameters:
    ///   - feed: told of each write's begin and end.
    ///   - waitTimeout: the longest wait of a piece for the batch before its own.
    init(database: Database, feed: Feed, waitTimeout: Duration, logger: Logger, metrics: any MetricsFactory) {
        let sizes = Recorder(label: "postline_piece_batch_size", factory: metrics)
        appends = RequestCoalescer(
            maxBatchSize: Self.maxBatchSize, waitTimeout: waitTimeout, on: database.reactor
        ) { pieces throws(ProtocolError) in
            sizes.record(pieces.count)
            feed.writeWillBegin()
            defer { feed.writeDidEnd() }
            do throws(ProtocolError) {
                return try await Self.append(pieces, in: database)
            } catch {
                if error.code == .unavailable || error.code == .timeout { throw error }
                logger.error(
                    "batch of pieces rejected; appending them individually", metadata: ["error": "\(error)"])
                return Array(repeating: nil, count: pieces.count)
            }
        }
    }

    /// Appends a piece, possibly in a batch with others.
    ///
    /// - Returns: the result of the method, or nil if the piece must be appended individually.
    /// - Throws: `unavailable`, `timeout`.
    func append(_ piece: Piece) async throws(ProtocolError) -> ByteBuffer? { try await appends.load(piece) }

    private static let appendPieces = Statement(
        "app.append_pieces",
        """
        select place, object \
        from app.append_pieces($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[])
        """)

    private static func append(
        _ pieces: [Piece], in database: Database
    ) async throws(ProtocolError) -> [ByteBuffer?] {
        let rows = try await database.rowsForMany(
            appendPieces,
            [
                pieces.plainArrayLiteral { $0.sender }, pieces.plainArrayLiteral { $0.conversation },
                pieces.plainArrayLiteral { $0.seq }, pieces.plainArrayLiteral { $0.start },
                pieces.map(\.content).arrayLiteral,
            ], as: .senders)
        return rows.buffersByPlace(pieces.count)
    }
}
