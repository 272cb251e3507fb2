import Postline

/// Commands for replies, files, reactions and pins.
extension ChatModel {
    /// Returns a message that the server has and that is not deleted: by its number, or else the last one that fits.
    private func message(_ seq: Int?, _ fits: (Message) -> Bool) throws(Refusal) -> Message {
        guard open != nil else { throw Refusal(Self.noneIsOpen) }
        let messages = openMessages.filter { $0.seq != nil && !$0.isDeleted && $0.kind != .system }
        guard let seq else {
            guard let last = messages.last(where: fits) else { throw Refusal("There is no such message here.") }
            return last
        }
        guard let message = messages.first(where: { $0.seq == seq }) else {
            throw Refusal("There is no message #\(seq) here. /numbers lists them.")
        }
        return message
    }

    mutating func reply(_ seq: Int?, _ text: String) -> [ChatOutput] {
        do {
            let message = try message(seq) { !$0.isMine }
            guard let open else { return [] }
            hasWritten()
            let details = Mentions.details(of: text, in: open, replyTo: message)
            return [.effect(.send(conversationID: open.id, content: text, details: details))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Sends a file.
    mutating func send(_ path: String, _ text: String) -> [ChatOutput] {
        guard let open else { return [.notice(.failed(Self.noneIsOpen))] }
        hasWritten()
        let details = Mentions.details(of: text, in: open)
        return [.effect(.file(.send(path: path, text: text, conversationID: open.id, details: details)))]
    }

    /// Saves the attachments of a message.
    func save(_ seq: Int?, _ path: String) -> [ChatOutput] {
        do throws(Refusal) {
            let message = try message(seq) { !$0.attachments.isEmpty }
            guard !message.attachments.isEmpty else { throw Refusal("Message \(message.number) has no file.") }
            return [.effect(.file(.save(message.attachments, path: path)))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Sets a reaction, or removes it if the user has set it.
    func react(_ seq: Int?, _ emoji: String) -> [ChatOutput] {
        do {
            let message = try message(seq) { !$0.isMine }
            let isSet = !message.reactions.contains { $0.emoji == emoji && $0.isMine }
            return [.effect(.react(message, emoji: emoji, isSet: isSet))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Requests the replies to a message.
    func thread(_ seq: Int?) -> [ChatOutput] {
        do {
            let answered = Set(openMessages.compactMap { $0.isDeleted ? nil : $0.replyTo?.seq })
            return [.effect(.loadReplies(try message(seq) { $0.seq.map(answered.contains) ?? false }))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Shows the replies to a message below it.
    static func thread(of message: Message, _ replies: [Message]) -> [ChatOutput] {
        guard !replies.isEmpty else { return [.notice(.info("Nobody has answered \(message.number)."))] }
        let isCut = replies.count >= ChatEffect.maxReplies
        return [.notice(.numbered([message] + replies))]
            + (isCut ? [.notice(.info("These are the last \(replies.count) replies."))] : [])
    }

    /// Pins a message, or ends that. Without a number it is the last message, or the one that was pinned last.
    func pin(_ seq: Int?, _ isPinned: Bool) -> [ChatOutput] {
        do {
            let seq = seq ?? (isPinned ? nil : open?.pinnedSeqs.first)
            return [.effect(.pin(try message(seq) { _ in true }, isPinned: isPinned))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Reports a message. Without a number it is the last one of another user.
    func report(_ seq: Int?, _ reason: String, _ comment: String?) -> [ChatOutput] {
        do {
            let message = try message(seq) { !$0.isMine }
            return reported(reason) { .message(message, $0, comment: comment) }
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Reports for one of the reasons, which must be spelled right.
    func reported(_ reason: String, _ action: (ReportReason) -> ReportAction) -> [ChatOutput] {
        guard ReportReason.all.contains(ReportReason(rawValue: reason)) else {
            let reasons = ReportReason.all.map(\.rawValue).joined(separator: ", ")
            return [.notice(.failed("“\(reason)” is no reason of a report. The reasons are \(reasons)."))]
        }
        return [.effect(.report(action(ReportReason(rawValue: reason))))]
    }

    /// The pinned messages. Those that are not loaded are only named.
    var pins: [ChatOutput] {
        guard let open else { return [.notice(.failed(Self.noneIsOpen))] }
        guard !open.pinnedSeqs.isEmpty else { return [.notice(.info("Nothing is pinned here."))] }
        let pinned = open.pinnedSeqs.compactMap { seq in openMessages.first { $0.seq == seq } }
        let missing = open.pinnedSeqs.filter { seq in !pinned.contains { $0.seq == seq } }
        guard !missing.isEmpty else { return [.notice(.numbered(pinned))] }
        let names = missing.map { "#\($0)" }.joined(separator: ", ")
        return (pinned.isEmpty ? [] : [.notice(.numbered(pinned))])
            + [.notice(.info("\(pinned.isEmpty ? "Pinned" : "Also pinned"): \(names). /older loads older messages."))]
    }
}
