import Messaging
import NIOCore
import Threads

/// Has the requests of one line done, one after another, and their answers written; with a send those that wait behind it.
///
/// It is a task of its own, whose memory goes with it: what a connection keeps for as long as it lives does not grow with
/// its deepest request.
struct LineTask: Sendable {
    let connection: NIOLoopBound<ConnectionHandler>
    let session: any LineSession

    /// The line's number: where the connection is at another, this one was given up.
    let turn: Int

    /// - Parameter loop: the connection's loop, which this never leaves but for the session's own reasons.
    func run(_ line: ByteBuffer, on loop: isolated LoopActor) async {
        var hooks: [@Sendable () async -> Void] = []
        switch Envelope(line) {
        case .single(let item):
            let others = item.isSend ? connection.value.joinSends(Self.mostTogether - 1) : []
            guard await perform([item] + others, isWhole: true, &hooks, on: loop) else { return }
        case .batch(let items):
            var rest = items[...]
            while let first = rest.first {
                // As between lines: the next request waits until the client has made room for its answer.
                await withSuspension { caller in
                    connection.value.awaitRoom(caller)
                    return .suspend
                }
                if connection.value.state.isLeaving { break }
                let next = first.isSend ? rest.prefix(while: \.isSend).prefix(Self.mostTogether) : rest.prefix(1)
                guard await perform(Array(next), isWhole: false, &hooks, on: loop) else { return }
                rest = rest.dropFirst(next.count)
            }
            connection.value.endBatch()
        }
        for hook in hooks {
            connection.value.hookBegins()
            await hook()
            guard isAtWork else { return }
        }
        connection.value.lineIsDone()
    }

    /// How many sends that stand one after another are done together.
    private static let mostTogether = 16

    /// Has a request done, or sends that stand one after another, and writes the answers.
    ///
    /// - Parameter isWhole: whether an answer is a line, and not a part of a batch's.
    /// - Returns: false where the line was given up meanwhile.
    private func perform(
        _ items: [Envelope.Item], isWhole: Bool, _ hooks: inout [@Sendable () async -> Void],
        on loop: isolated LoopActor
    ) async -> Bool {
        let answers: [Answer]
        switch items[0].content {
        case .failure(let error):
            answers = [Answer(.failure(await session.counted(error)))]
            guard isAtWork else { return false }
        case .success(let request) where items.count == 1:
            answers = [await session.answer(request, connection.value.requestBegins())]
            guard isAtWork else { return false }
        case .success:
            let sends = items.compactMap { try? $0.content.get() }
            answers = await session.answer(sends, sends.map { _ in connection.value.requestBegins() })
            guard isAtWork else { return false }
        }
        for (item, answer) in zip(items, answers) {
            connection.value.requestIsDone(item.id, answer.content, isWhole: isWhole)
            if let hook = answer.afterWriting { hooks.append(hook) }
        }
        return true
    }

    private var isAtWork: Bool { connection.value.state.turn == turn }
}

/// What is being done, as its connection sees it: a line, or the sends of several.
struct LineWork {
    var lines: [ByteBuffer]
    let task: Task<Void, Never>

    private static let maxJoinedBytes = 65_536

    /// Takes up the lines that wait, as long as they are sends, so many at most and of so many bytes as may be: they are
    /// done with the one at work. A send is answered with what it says.
    ///
    /// - Parameter next: gives what `read` makes of the next line, and takes that up.
    mutating func joinSends(
        _ most: Int,
        _ next: (_ read: (ByteBuffer) -> (ByteBuffer, Envelope.Item)?) -> (ByteBuffer, Envelope.Item)?
    ) -> [Envelope.Item] {
        var sends: [Envelope.Item] = []
        var bytes = lines[0].readableBytes
        while sends.count < most, bytes < Self.maxJoinedBytes {
            let joined = next { line in
                if case .single(let item) = Envelope(line), item.isSend { (line, item) } else { nil }
            }
            guard let (line, item) = joined else { break }
            bytes += line.readableBytes
            lines.append(line)
            sends.append(item)
        }
        return sends
    }

    /// How many of its requests are done, and answered where they are to be.
    var answered = 0

    /// What is left of it: the request that is at work, and the ids of all that wait for an answer.
    ///
    /// `isWhole`: whether an answer is a line, and not a part of a batch's.
    var owed: (overdue: Envelope.Item, ids: [JSON], isWhole: Bool) {
        var items: [Envelope.Item] = []
        var isWhole = true
        for line in lines {
            switch Envelope(line) {
            case .single(let item): items.append(item)
            case .batch(let all):
                items += all
                isWhole = false
            }
        }
        return (items[min(answered, items.count - 1)], items.dropFirst(answered).compactMap(\.id), isWhole)
    }
}

extension Envelope.Item {
    /// Whether it sends a text, which may be done together with others.
    var isSend: Bool { (try? content.get())?.isTextSend ?? false }
}
