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

    private static let scheduleMessage = Statement(
        "api.schedule_message",
        """
        select api.schedule_message(\
        $1::uuid, $10, $2, $3::uuid, $4, $5::jsonb, $6::bigint, $7::uuid[], $8::boolean, $9::jsonb)
        """)

    private static let streamMessage = Statement(
        "api.stream_message",
        "select api.stream_message($1::uuid, $2, $3::uuid, $4::bigint, $5::uuid[], $6::boolean, $7::jsonb)")

    /// Performs `messages.send`.
    func send(_ params: Params) async throws(ProtocolError) -> Answer {
        try takeSend(params)
        if params.bool("is_streaming") { return try await stream(params) }
        if params.object("attachment") == nil, params.objects("attachments") == nil, params.string("kind") == "text" {
            let text = try text(of: params)
            let outcome = await service.sendBatcher.send([text])[0]
            recordWriteTime()
            return try await answer(to: text, outcome)
        }
        return try await sendIndividually(individualParameters(of: params))
    }

    /// Sends a message that grows.
    private func stream(_ params: Params) async throws(ProtocolError) -> Answer {
        let text = try text(of: params)
        guard params.object("attachment") == nil, params.objects("attachments") == nil, params.string("kind") == "text"
        else { throw .invalid("is_streaming", "is only for a message of kind \"text\" without attachments") }
        do throws(ProtocolError) {
            return try await write(
                Self.streamMessage, ["\(text.conversation)", text.content, text.clientID] + text.details.parameters)
        } catch {
            return try await earlierMessage(text.parameters, error)
        }
    }

    /// Performs `messages.schedule`. It is charged like a send.
    func schedule(_ params: Params) async throws(ProtocolError) -> Answer {
        try takeSend(params)
        return try await write(
            Self.scheduleMessage, individualParameters(of: params) + [params.string("due_at")])
    }

    /// Returns the parameters of `api.send_message`.
    private func individualParameters(of params: Params) async throws(ProtocolError) -> [String?] {
        let attachment = try await attachment(params)
        return [
            params.uuid("conversation_id"), params.string("content"), params.uuid("client_id"),
            params.string("kind"), attachment?.text,
        ] + MessageDetails(params).parameters
    }

    /// Returns the attachments of a message as the database takes them: the first, with the others in its member
    /// `more`.
    private func attachment(_ params: Params) async throws(ProtocolError) -> JSONObject? {
        guard let attachments = params.objects("attachments") else {
            return try await params.object("attachment")?.locatingAttachment(path: "attachment.", in: self)
        }
        var located: [JSONObject] = []
        for (index, attachment) in attachments.enumerated() {
            located.append(try await attachment.locatingAttachment(path: "attachments[\(index)].", in: self))
        }
        let more = JSON.array(located.dropFirst().map { .object($0) })
        return located.first.map { JSONObject($0.members + [.init(name: "more", value: more)]) }
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
            + (params.objects("attachments") ?? []).reduce(0) { $0 + $1.text.utf8.count }
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

extension JSONObject {
    /// Returns an attachment with the URL of its uploaded file for the database, after a check of file and preview.
    ///
    /// - Parameter path: the prefix of member names in errors.
    /// - Throws: `invalid_params`, `unavailable`.
    fileprivate func locatingAttachment(
        path: String, in session: isolated ConnectionSession
    ) async throws(ProtocolError) -> JSONObject {
        // The stored form has it.
        guard self["more"] == nil else { throw .invalid(path + "more", "is not a member of an attachment") }
        let located = try await locatingFile(.message, as: "url", path: path, in: session)
        let (name, field) = ("preview_media_id", path + "preview_media_id")
        switch self[name] {
        case nil, .null: return located
        case .string(let text)?:
            guard let id = ID(text) else { throw .invalid(field, "must be a UUID") }
            _ = try await session.address(ofFile: id, .message, field: field)
            return JSONObject(
                located.members.filter { $0.name != name } + [.init(name: name, value: .string("\(id)"))])
        case .some: throw .invalid(field, "must be a UUID")
        }
    }
}
