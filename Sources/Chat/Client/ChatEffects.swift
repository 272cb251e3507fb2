import Foundation
import Postline

/// Executes the chat's effects with its client, and reports the results.
@MainActor
struct ChatEffects {
    let view: ClientView
    let report: @Sendable (ChatEvent) -> Void

    private var client: PostlineClient { view.client }

    /// Executes an effect that only stores something, in order.
    ///
    /// - Returns: false if the effect needs a response (see `perform`) or ends the chat.
    func store(_ effect: ChatEffect) async -> Bool {
        do {
            switch effect {
            case .send(let id, let content, let details): try await client.send(content, in: id, details: details)
            case .edit(let message, let content, let details):
                let (old, new) = (message, details)
                try await client.edit(
                    message, to: content, mentions: old.mentions == new.mentions ? nil : new.mentions,
                    mentionsEveryone: old.mentionsEveryone == new.mentionsEveryone ? nil : new.mentionsEveryone)
            case .react(let message, let emoji, let isSet):
                try await client.react(to: message, with: emoji, isSet: isSet)
            case .pin(let message, true): try await client.pin(message)
            case .pin(let message, false): try await client.unpin(message)
            case .archive(let id, let isArchived): try await client.setArchived(isArchived, of: id)
            case .delete(let message): try await client.delete(message)
            case .markRead(let id, _): try await client.markRead(id)
            case .draft(let id, let content): try await view.chat(id).setDraft(content)
            case .change(let change): try await client.updateProfile { change.apply(to: &$0) }
            case .retry(let changes): for change in changes { try await client.retryChange(change) }
            case .discard(let changes): for change in changes { try await client.discardChange(change) }
            case .file(.send(let path, let text, let id, let details)):
                try await send(OutgoingAttachment(contentsOf: try Self.file(path)), text, in: id, details)
            case .search, .openDirect, .loadOlder, .loadReplies, .group, .schedule, .report, .block, .file,
                .fetchCatalogue, .account, .quit:
                return false
            }
        } catch {
            fail(error)
        }
        return true
    }

    /// Sends a request and waits for its response.
    func perform(_ effect: ChatEffect) async {
        do {
            switch effect {
            case .search(let query, .open):
                report(.found(query: query, users: try await client.searchProfiles(query), purpose: .open))
            case .search(let query, .show):
                try await search(query)
            case .openDirect(let person):
                report(.opened(conversationID: try await client.openConversation(with: person.id)))
            case .loadOlder(let id):
                try await view.chat(id).loadOlder()
                report(.loadedOlder(conversationID: id))
            case .loadReplies(let message): report(.replies(message, try await replies(to: message)))
            case .group(let action): try await perform(action)
            case .schedule(let action): try await perform(action)
            case .report(let action): try await perform(action)
            case .block(let action): try await perform(action)
            case .file(let action): try await perform(action)
            case .fetchCatalogue:
                // If it fails, avatars only have other colours.
                if let avatars = try? await client.builtInAvatars() { report(.catalogue(avatars)) }
            case .account(let action): try await perform(action)
            case .send, .edit, .delete, .react, .pin, .archive, .markRead, .draft, .change, .retry, .discard, .quit:
                break
            }
        } catch {
            fail(error)
        }
    }

    /// Searches messages, and people by a text of at most 50 characters. Without a connection stored messages only.
    private func search(_ query: String) async throws {
        let messages = try await client.searchMessages(query).messages
        do {
            let users = query.count <= 50 ? try await client.searchProfiles(query) : []
            report(.found(query: query, users: users, messages: messages, purpose: .show))
        } catch {
            if !messages.isEmpty { report(.found(query: query, users: [], messages: messages, purpose: .show)) }
            throw error
        }
    }

    /// Returns the last replies to a message. A page may have fewer than its limit.
    private func replies(to message: Message) async throws -> [Message] {
        var replies: [Message] = []
        while replies.count < ChatEffect.maxReplies {
            let limit = ChatEffect.maxReplies - replies.count
            let page = try await client.replies(to: message, before: replies.first, limit: limit)
            guard !page.isEmpty else { break }
            replies = page + replies
        }
        return replies
    }

    private func fail(_ error: any Error) {
        report(.failed((error as? PostlineError)?.sentence ?? "\(error)"))
    }

    private func perform(_ action: GroupAction) async throws {
        switch action {
        case .create(let title, let who):
            report(.opened(conversationID: try await client.createGroup(title, with: try await ids(of: who))))
        // What has changed is shown when it arrives.
        case .add(let who, let id):
            let ids = try await ids(of: who).filter { member($0, of: id) == nil }
            if ids.isEmpty { return report(.done("All of them are members already.")) }
            try await client.addMembers(ids, to: id)
        case .remove(let userID, let id): try await client.removeMember(userID, from: id)
        case .leave(let id): try await client.leaveGroup(id)
        case .rename(let id, let title): try await client.renameGroup(id, to: title)
        case .setRole(let role, let userID, let id):
            if member(userID, of: id)?.role == role { return report(.done("They have that role already.")) }
            try await client.setRole(role, of: userID, in: id)
        case .mute(let id, let minutes):
            let until = minutes.map { Date(timeIntervalSinceNow: Double($0) * 60) }
            try await client.mute(id, until: until)
            let time = until.map { " until \(WallTime($0).clockAndDay)" } ?? ""
            report(.done("No push tells you of this conversation\(time)."))
        case .expire(let id, let minutes):
            try await client.setMessageTTL(minutes.map { .seconds($0 * 60) }, of: id)
        case .unmute(let id):
            try await client.unmute(id)
            report(.done("Pushes tell you of this conversation again."))
        }
    }

    private func member(_ userID: User.ID, of id: Conversation.ID) -> Conversation.Member? {
        client.conversations.first { $0.id == id }?.members.first { $0.userID == userID }
    }

    private func perform(_ action: ScheduleAction) async throws {
        switch action {
        case .add(let id, let content, let time, let details):
            let message = try await client.schedule(content, in: id, at: time.date(), details: details)
            report(.done("It is sent at \(message.time). /scheduled shows it, /unschedule removes it."))
        case .list(let id):
            report(.scheduled(try await client.scheduledMessages(in: id)))
        case .remove(let id, let number):
            let messages = try await client.scheduledMessages(in: id)
            guard messages.indices.contains(number - 1) else {
                throw PostlineError(.notFound, "There is no scheduled message \(number). /scheduled lists them.")
            }
            try await client.unschedule(messages[number - 1])
            report(.done("It will not be sent: \(messages[number - 1].content)"))
        }
    }

    private func perform(_ action: ReportAction) async throws {
        switch action {
        case .message(let message, let reason, let comment):
            try await client.report(message, reason: reason, comment: comment)
        case .user(let who, let reason, let comment):
            for id in try await ids(of: [who]) { try await client.report(userID: id, reason: reason, comment: comment) }
        }
        report(.done("Reported. The moderators will look at it, and nobody else is told."))
    }

    private func perform(_ action: BlockAction) async throws {
        switch action {
        case .block(let who):
            for id in try await ids(of: [who]) { try await client.block(id) }
            report(.done("Neither of you can write to the other now. /unblock ends it, /blocked lists whom you block."))
        case .unblock(.known(let id)):
            guard client.blockedUserIDs.contains(id) else { return report(.done("You do not block them.")) }
            try await client.unblock(id)
            report(.done("They are no longer blocked."))
        case .unblock(.named(let name)):
            // A search does not find blocked users.
            let called = try await blockedUsers().filter { $0.isCalled(name) }
            guard called.count == 1 else {
                throw PostlineError(.notFound, "You block nobody called “\(name)”. /blocked lists whom you block.")
            }
            try await perform(.unblock(.known(id: called[0].id)))
        case .list: report(.blocked(try await blockedUsers()))
        }
    }

    /// Returns the blocked users, also those who share no conversation with the user.
    private func blockedUsers() async throws -> [User] {
        let ids = client.blockedUserIDs
        var users = Dictionary(client.conversations.flatMap(\.users).map { ($0.id, $0) }) { $1 }
        var unknown = ids.filter { users[$0] == nil }[...]
        while !unknown.isEmpty {
            for user in try await client.profiles(withIDs: Array(unknown.prefix(100))) { users[user.id] = user }
            unknown = unknown.dropFirst(100)
        }
        return ids.compactMap { users[$0] }
    }

    private func perform(_ action: FileAction) async throws {
        switch action {
        case .wear(let path): try await client.setAvatar(try read(path))
        case .send: break
        case .save(let attachments, let path):
            for (attachment, file) in zip(attachments, try Self.places(of: attachments, in: path)) {
                try await client.download(attachment, to: file)
                report(.done("Saved as \(file.path)."))
            }
        }
    }

    private func send(
        _ file: OutgoingAttachment, _ text: String, in id: Conversation.ID, _ details: MessageDetails
    ) async throws {
        do {
            try await client.send(attachments: [file], text: text, in: id, details: details)
        } catch {
            // A name of the package says nothing to the user.
            throw PostlineError(error.code, error.message.replacing("\"attachments[0]\"", with: "The file"))
        }
    }

    /// Returns the files to save attachments in: new ones in a folder, or a single one by its name.
    private static func places(of attachments: [Message.Attachment], in path: String) throws -> [URL] {
        let url = url(path)
        func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }
        let isFolder = isFolder(url)
        guard isFolder == true else {
            guard attachments.count == 1 else {
                throw PostlineError(
                    .invalidParams, "The message has \(attachments.count) files, so give a folder that exists.")
            }
            guard isFolder == nil else {
                throw PostlineError(.invalidParams, "\(url.path) exists: choose another name.")
            }
            let folder = path.hasSuffix("/") ? url : url.deletingLastPathComponent()
            guard exists(folder) else {
                throw PostlineError(.invalidParams, "There is no folder \(folder.path).")
            }
            return [url]
        }
        var places: [URL] = []
        for attachment in attachments {
            let name = attachment.suggestedFilename
            var place = url.appending(path: name)
            var number = 1
            while exists(place) || places.contains(place) {
                number += 1
                place = url.appending(path: "\(number) \(name)")
            }
            places.append(place)
        }
        return places
    }

    /// Returns the file of a path.
    ///
    /// - Throws: `PostlineError` if it does not exist, or is a folder.
    private static func file(_ path: String) throws(PostlineError) -> URL {
        let url = url(path)
        switch isFolder(url) {
        case nil: throw PostlineError(.invalidParams, "There is no file \(url.path).")
        case true?: throw PostlineError(.invalidParams, "\(url.path) is a folder: choose a file in it.")
        case false?: return url
        }
    }

    /// Returns true for a folder, false for a file, and nil if nothing is there.
    private static func isFolder(_ url: URL) -> Bool? {
        var isFolder: ObjCBool = false
        let isThere = unsafe FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
        return isThere ? isFolder.boolValue : nil
    }

    private static func url(_ path: String) -> URL {
        URL(filePath: path.hasPrefix("~/") ? NSHomeDirectory() + path.dropFirst() : path)
    }

    private func read(_ path: String) throws -> Data {
        let url = try Self.file(path)
        do {
            return try Data(contentsOf: url)
        } catch {
            throw PostlineError(.invalidParams, "The file \(url.path) cannot be read.")
        }
    }

    private func ids(of who: [GroupAction.Who]) async throws -> [User.ID] {
        var ids: [User.ID] = []
        for who in who {
            switch who {
            case .known(let id): ids.append(id)
            case .named(let name):
                let found = try await client.searchProfiles(name)
                let meant = found.filter { $0.isCalled(name) }
                guard let person = meant.count == 1 ? meant[0] : found.count == 1 ? found[0] : nil else {
                    throw PostlineError(
                        .notFound,
                        found.isEmpty
                            ? "Nobody is called “\(name)”."
                            : "More than one is found for “\(name)”; /search \(name) shows their usernames.")
                }
                ids.append(person.id)
            }
        }
        return ids
    }

    private func perform(_ action: AccountAction) async throws {
        switch action {
        case .upgrade(let email, let password):
            try await client.upgrade(email: email, password: password)
            report(.done("This account is yours now. Sign in with \(email) and your password from anywhere."))
        case .signIn(let email, let password):
            let merged = try await client.signIn(email: email, password: password)
            let came = [(merged?.conversations, "conversation"), (merged?.messages, "message")]
                .compactMap { number, noun in number.flatMap { $0 > 0 ? Self.count($0, noun) : nil } }
                .joined(separator: " and ")
            let company = came.isEmpty ? "" : " With you came \(came)."
            report(.done("You are signed in as \(email).\(company)"))
        case .changePassword(let current, let new):
            let revoked = try await client.changePassword(from: current, to: new)
            let others = revoked == 0 ? "" : " Signed out elsewhere: \(Self.count(revoked, "session"))."
            report(.done("Your password is changed.\(others)"))
        case .logout(let everywhere):
            try await client.signOut(erasing: true, everywhere: everywhere)
            report(.signedOut(everywhere ? "You are signed out everywhere." : "You are signed out."))
        case .delete(let password):
            try await client.deleteAccount(password: password)
            report(.signedOut("Your account is deleted."))
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
