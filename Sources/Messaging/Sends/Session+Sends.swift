internal import NIOCore
internal import Postgres

/// How a session sends: texts together with those of others, all else alone.
extension Session {
    /// Sends one message alone, as the signed-in user.
    static let sendMessage = Statement(
        "api.send_message", "select api.send_message($1::uuid, $2, $3::uuid, $4, $5::jsonb)")

    /// The message that a client_id of the user's stands for.
    private static let sentMessage = Statement(
        "api.sent_message", "select api.sent_message($1::uuid, $2, $3::uuid, $4, $5::jsonb)")

    /// `messages.send`.
    func send(_ params: Params) async throws(ProtocolError) -> Answer {
        try limits.takeSend(of: token.user)
        if params.object("attachment") == nil, params.string("kind") == "text" {
            let text = try text(of: params)
            let outcome = await service.sendGroups.send([text])[0]
            recordWriteTime()
            return try await answer(of: text, outcome)
        }
        let attachment = try await params.object("attachment")?
            .locatingPicture(.message, as: "url", path: "attachment.", in: self)
        return try await sendAlone([
            params.uuid("conversation_id"), params.string("content") ?? "", params.uuid("client_id"),
            params.string("kind"), attachment?.text,
        ])
    }

    /// Sends texts of one client in their order, together where they are good.
    func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer] {
        let start = ContinuousClock.now
        do throws(ProtocolError) {
            try await limits.waitForTurn(of: userID, at: addressKey, requests: sends.count)
        } catch {
            return sends.map { _ in Answer(.failure(error)) }
        }
        let texts = sends.map { send in
            Result { () throws(ProtocolError) in
                let params = try params(of: send, .send)
                try limits.takeSend(of: token.user)
                return try text(of: params)
            }
        }
        var outcomes = await service.sendGroups.send(texts.compactMap { try? $0.get() })[...]
        recordWriteTime()
        var answers: [Answer] = []
        // Once one has waited for the database in vain, none that comes after it is sent alone: neither before it, nor
        // with a wait of its own, as long as all those before took together.
        var inVain: ProtocolError?
        for (text, id) in zip(texts, ids) {
            let outcome = (try? text.get()).flatMap { _ in outcomes.popFirst() }
            let answer = await CurrentRequest.$current.withValue(currentRequest(id, .send)) { [inVain] in
                do throws(ProtocolError) {
                    let text = try text.get()
                    guard let outcome else { throw .fault("a text without an outcome") }
                    if let inVain, case .success(nil) = outcome { throw inVain }
                    return try await self.answer(of: text, outcome)
                } catch {
                    return Answer(.failure(file(error, of: .send, id)))
                }
            }
            if case .failure(let error) = answer.content, error.code == .timeout || error.code == .unavailable {
                inVain = error
            }
            note(answer, to: id, .send, after: .now - start)
            answers.append(answer)
        }
        return answers
    }

    private func text(of params: Params) throws(ProtocolError) -> OutgoingText {
        guard let conversation = params.uuid("conversation_id").flatMap({ ID($0) }) else {
            throw .fault("a send without a conversation")
        }
        return OutgoingText(
            caller: caller, sender: try token.user, conversation: conversation, content: params.string("content") ?? "",
            clientID: params.uuid("client_id"))
    }

    /// What a text is answered with that has been sent with others, or is still to be sent.
    private func answer(
        of text: OutgoingText, _ outcome: SendGroups.Outcome
    ) async throws(ProtocolError) -> Answer {
        do throws(ProtocolError) {
            if let message = try outcome.get() { return Answer(.result(message)) }
        } catch {
            return try await sent(text.parameters, error)
        }
        return try await sendAlone(text.parameters)
    }

    private func sendAlone(_ message: [String?]) async throws(ProtocolError) -> Answer {
        do throws(ProtocolError) {
            return try await write(Self.sendMessage, message)
        } catch {
            return try await sent(message, error)
        }
    }

    /// What became of a message that was sent before, as it seems, is the answer, if the same was sent.
    private func sent(_ message: [String?], _ error: ProtocolError) async throws(ProtocolError) -> Answer {
        guard error.code == .clientIDReused else { throw error }
        return try await read(Self.sentMessage, message)
    }
}
