import Messaging
import NIOCore
import Threads

/// Has the requests of one line done, one after another, and their answers written.
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
            guard await perform(item, isWhole: true, &hooks, on: loop) else { return }
        case .batch(let items):
            for item in items {
                // As between lines: the next request waits until the client has made room for its answer.
                await suspended { caller in
                    connection.value.awaitRoom(caller)
                    return .kept
                }
                if connection.value.state.isLeaving { break }
                guard await perform(item, isWhole: false, &hooks, on: loop) else { return }
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

    /// Has a request done, and writes its answer.
    ///
    /// - Parameter isWhole: whether its answer is a line, and not a part of a batch's.
    /// - Returns: false where the line was given up meanwhile.
    private func perform(
        _ item: Envelope.Item, isWhole: Bool, _ hooks: inout [@Sendable () async -> Void], on loop: isolated LoopActor
    ) async -> Bool {
        let answer: Answer
        switch item.content {
        case .success(let request):
            answer = await session.answer(request, connection.value.requestBegins())
            guard isAtWork else { return false }
        case .failure(let error):
            answer = Answer(.failure(error))
        }
        connection.value.requestIsDone(item.id, answer.content, isWhole: isWhole)
        if let hook = answer.afterWriting { hooks.append(hook) }
        return true
    }

    private var isAtWork: Bool { connection.value.state.turn == turn }
}

/// A line that is being done, as its connection sees it.
struct LineWork {
    let line: ByteBuffer
    let task: Task<Void, Never>

    /// How many of its requests are done, and answered where they are to be.
    var answered = 0

    /// What is left of it: the request that is at work, and the ids of all that wait for an answer.
    ///
    /// `isWhole`: whether an answer is a line, and not a part of a batch's.
    var owed: (overdue: Envelope.Item, ids: [JSON], isWhole: Bool) {
        let (items, isWhole) =
            switch Envelope(line) {
            case .single(let item): ([item], true)
            case .batch(let items): (items, false)
            }
        return (items[min(answered, items.count - 1)], items.dropFirst(answered).compactMap(\.id), isWhole)
    }
}
