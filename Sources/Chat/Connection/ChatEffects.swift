internal import LineClient
internal import Messaging

/// Does what the chat asks of its connection, and reports what came of it.
struct ChatEffects: Sendable {
    let link: ServerLink
    let report: @Sendable (ChatEvent) -> Void

    /// Hands over what is only to be put in order; false where the effect asks for an answer (`perform`) or an end.
    func handOver(_ effect: ChatEffect) async -> Bool {
        switch effect {
        case .send(let message): await link.send(message)
        case .markRead(let conversationID, let seq): await link.markRead(conversationID, seq)
        case .search, .openDirect, .loadOlder, .change, .account, .quit: return false
        }
        return true
    }

    /// Asks the server and waits for its answer.
    func perform(_ effect: ChatEffect) async {
        do {
            switch effect {
            case .search(let query, let purpose):
                let answer = try await link.call("profiles.search", ["query": .string(query), "limit": .integer(20)])
                let people = (answer["profiles"]?.arrayValue ?? []).compactMap(Person.init)
                report(.found(query: query, people: people, purpose: purpose))
            case .openDirect(let person):
                let answer = try await link.call("conversations.open", ["user_id": .string(person.id)])
                guard let conversation = Conversation(answer) else { return }
                report(.opened(conversation, people: [person]))
            case .loadOlder(let conversationID, let beforeSeq):
                let answer = try await link.call(
                    "messages.list",
                    [
                        "conversation_id": .string(conversationID), "before_seq": .integer(beforeSeq),
                        "limit": .integer(50),
                    ])
                let messages = (answer["messages"]?.arrayValue ?? []).compactMap(Message.init)
                report(.older(conversationID: conversationID, messages))
            case .change(let change):
                if let me = Me(try await link.call(change.method, change.params)) { report(.me(me)) }
                if case .bio(let bio) = change { report(.done(bio == nil ? "Your bio is gone." : "Your bio is set.")) }
            case .account(let action):
                try await perform(action)
            case .send, .markRead, .quit:
                break
            }
        } catch let error as RemoteError {
            report(.failed(error.sentence))
        } catch ConnectionError.closed {
            report(.failed("There is no connection to the server just now."))
        } catch {
            report(.failed("\(error)"))
        }
    }

    private func perform(_ action: AccountAction) async throws {
        switch action {
        case .upgrade(let email, let password):
            try await link.upgrade(email: email, password: password)
            if let me = Me(try await link.call("me.get", [:])) { report(.me(me)) }
            report(.done("This account is yours now. Sign in with \(email) and your password from anywhere."))
        case .signIn(let email, let password):
            let merged = try await link.signIn(email: email, password: password)
            let came = [
                Self.count(merged["conversations"], "conversation"), Self.count(merged["messages"], "message"),
            ].filter { !$0.hasPrefix("0 ") }.joined(separator: " and ")
            let company = came.isEmpty ? "" : " With you came \(came)."
            report(.done("You are signed in as \(email).\(company)"))
        case .changePassword(let current, let new):
            let revoked = try await link.changePassword(from: current, to: new)
            let others = revoked == 0 ? "" : " Signed out elsewhere: \(Self.count(.integer(revoked), "session"))."
            report(.done("Your password is changed.\(others)"))
        case .logout(let everywhere):
            _ = try await link.call("auth.logout", ["all": .bool(everywhere)])
            report(.signedOut(everywhere ? "You are signed out everywhere." : "You are signed out."))
        case .delete(let password):
            let params = password.map { JSONObject([.init(name: "password", value: .string($0))]) } ?? [:]
            _ = try await link.call("me.delete", params)
            report(.signedOut("Your account is deleted."))
        }
    }

    private static func count(_ number: JSON?, _ noun: String) -> String {
        let number = number?.integerValue ?? 0
        return "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}

extension RemoteError {
    /// The server's sentence, and when to try again where it knows that.
    var sentence: String {
        guard let day = data["retry_at"]?.stringValue.flatMap(WireTime.init)?.day else { return message }
        return "\(message) Yours can be changed again from \(day) on."
    }
}
