import Accounts
import Postgres
import WireProtocol

/// Appending to messages that stream: in batches with the pieces of other clients, or individually.
extension ConnectionSession {
    private static let appendToMessage = Statement(
        "api.append_to_message", "select api.append_to_message($1::uuid, $2::bigint, $3::bigint, $4)")

    /// Performs `messages.append`.
    func append(_ params: Params) async throws(ProtocolError) -> Answer {
        let piece = PieceBatcher.Piece(
            sender: try token.user, conversation: params.id("conversation_id"), seq: params.digits("seq"),
            start: params.digits("start"), content: params.string("content") ?? "")
        let bytes = piece.content.utf8.count
        try limits.takePiece(of: piece.sender, bytes: bytes, at: addressKey, isGuest: isGuest)
        if bytes <= PieceBatcher.maxPieceBytes {
            defer { recordWriteTime() }
            if let appended = try await service.pieceBatcher.append(piece) { return Answer(.result(appended)) }
        }
        return try await write(Self.appendToMessage, piece.parameters)
    }
}
