import Accounts
import DatabaseAccess
import Foundations
import NIOCore
import Postgres
import WireProtocol

/// Sending messages: texts in batches with those of other clients, all others individually.
extension ConnectionSession {
    /// Sends one message as the signed-in user.
    static let sendMessage = Statement(
        "api.send_message",
        """
        select api.send_message(\
        $1::uuid, $2, $3::uuid, $4, $5::jsonb, $6::bigint, $7::uuid[], $8::boolean, $9::jsonb)
        """)

    /// Returns the earlier message of the user that has this `client_id`.
    private static let sentMessage = Statement(
        "api.sent_message",
        """
        select api.sent_message(\
        $1::uuid, $2, $3::uuid, $4, $5::jsonb, $6::bigint, $7::uuid[], $8::boolean, $9::jsonb)
        """)

    /// Performs `messages.send`.
    func send(_ params: Params) async throws(ProtocolError) -> Answer {
        try takeSend(params)
        if params.object("attachment") == nil, params.string("kind") == "text" {
            let text = try text(of: params)
            let outcome = await service.sendBatcher.send([text])[0]
            recordWriteTime()
            return try await answer(to: text, outcome)
        }
        let attachment = try await params.object("attachment")?
            .locatingPicture(.message, as: "url", path: "attachment.", in: self)
        return try await sendIndividually(
            [
                params.uuid("conversation_id"), params.string("content") ?? "", params.uuid("client_id"),
                params.string("kind"), attachment?.text,
            ] + MessageDetails(params).parameters)
    }

    /// Sends the texts of pipelined requests in their order, in one batch as far as they are valid.
    func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer] {
        let start = ContinuousClock.now
        let texts = sends.map { send in
            Result { () throws(ProtocolError) in
                let params = try params(of: send, .send)
                try takeSend(params)
                return try text(of: params)
            }
        }
        var outcomes = await service.sendBatcher.send(texts.compactMap { try? $0.get() })[...]
        recordWriteTime()
        var answers: [Answer] = []
        // After a timeout, later texts are not sent individually: they could overtake the failed one, and each could
        // wait as long again.
        var databaseFailure: ProtocolError?
        for (text, id) in zip(texts, ids) {
            let outcome = (try? text.get()).flatMap { _ in outcomes.popFirst() }
            let answer = await CurrentRequest.$current.withValue(currentRequest(id, .send)) { [databaseFailure] in
                do throws(ProtocolError) {
                    let text = try text.get()
                    guard let outcome else { throw .fault("a text without an outcome") }
                    if let databaseFailure, case .success(nil) = outcome { throw databaseFailure }
                    return try await self.answer(to: text, outcome)
                } catch {
                    return Answer(.failure(logInternalError(error, of: .send, id)))
                }
            }
            if case .failure(let error) = answer.content, error.code == .timeout || error.code == .unavailable {
                databaseFailure = error
            }
            record(answer, to: id, .send, after: .now - start)
            answers.append(answer)
        }
        return answers
    }

    private func takeSend(_ params: Params) throws(ProtocolError) {
        let bytes =
            (params.string("content")?.utf8.count ?? 0) + (params.object("attachment")?.text.utf8.count ?? 0)
            + (params.object("data")?.text.utf8.count ?? 0)
        try limits.takeSend(of: token.user, bytes: bytes, at: addressKey, isGuest: isGuest)
    }

    private func text(of params: Params) throws(ProtocolError) -> OutgoingText {
        guard let conversation = params.uuid("conversation_id").flatMap({ ID($0) }) else {
            throw .fault("a send without a conversation")
        }
        return OutgoingText(
            caller: caller, sender: try token.user, conversation: conversation, content: params.string("content") ?? "",
            clientID: params.uuid("client_id"), details: MessageDetails(params))
    }

    /// Returns the answer to a text with this outcome of its batch. Sends the text individually if the batch did not.
    private func answer(
        to text: OutgoingText, _ outcome: SendBatcher.Outcome
    ) async throws(ProtocolError) -> Answer {
        do throws(ProtocolError) {
            if let message = try outcome.get() { return Answer(.result(message)) }
        } catch {
            return try await earlierMessage(text.parameters, error)
        }
        return try await sendIndividually(text.parameters)
    }

    private func sendIndividually(_ message: [String?]) async throws(ProtocolError) -> Answer {
        do throws(ProtocolError) {
            return try await write(Self.sendMessage, message)
        } catch {
            return try await earlierMessage(message, error)
        }
    }

    /// Returns the earlier message of this `client_id` if it is the same message. Rethrows other errors than
    /// `client_id_reused`.
    private func earlierMessage(_ message: [String?], _ error: ProtocolError) async throws(ProtocolError) -> Answer {
        guard error.code == .clientIDReused else { throw error }
        return try await read(Self.sentMessage, message)
    }
}
