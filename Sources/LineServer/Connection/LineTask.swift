import Concurrency
import Messaging
import NIOCore
import WireProtocol

/// Executes the requests of one line sequentially and writes the responses. A send is executed together with the sends
/// that wait behind it.
///
/// Each line has its own task, which frees its memory, so that an idle connection does not keep the stack of its
/// deepest request.
struct LineTask: Sendable {
    let connection: NIOLoopBound<ConnectionHandler>
    let session: any LineSession

    /// The line's number. If the connection has another, this line has timed out.
    let turn: Int

    /// Executes a line.
    ///
    /// - Parameter loop: The event loop that runs this task. Only the session may suspend to another executor.
    func run(_ line: ByteBuffer, on loop: isolated LoopActor) async {
        var hooks: [@Sendable () async -> Void] = []
        var envelope: Envelope
        do throws(ProtocolError) {
            connection.value.isAwaitingAdmission = true
            defer { connection.value.isAwaitingAdmission = false }
            // A client that has closed its side may be gone, and its lines must not be kept for seconds.
            let isDelayed = try await session.admitRequest(
                bytes: line.readableBytes, canWait: !connection.value.state.hasInputEnded)
            if isDelayed {
                // Many delays may end at this moment.
                await withSuspension { caller in
                    connection.value.awaitTurn(of: .line(line), caller)
                    return .suspend
                }
            }
            guard isAtWork else { return }
            envelope = Envelope(line)
        } catch {
            guard isAtWork else { return }
            envelope =
                connection.value.state.hasInputEnded
                ? .single(Envelope.Item(id: .null, content: .failure(error))) : Envelope(line).refused(by: error)
        }
        switch envelope {
        case .single(let item):
            let others = item.isSend ? connection.value.joinSends(Self.mostTogether - 1) : []
            if !others.isEmpty { await session.countRequests(others.count) }
            guard await perform([item] + others, isWhole: true, &hooks, on: loop) else { return }
        case .batch(let items):
            await session.countRequests(items.count - 1)
            var rest = items[...]
            while let first = rest.first {
                // As between lines, the next request waits until the client has made room for its response.
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

    /// The maximum number of consecutive sends that are executed together.
    private static let mostTogether = 16

    /// Executes a request, or consecutive sends, and writes the responses.
    ///
    /// - Parameter isWhole: true if a response is a line, and not a part of a batch's.
    /// - Returns: false if the line has timed out meanwhile.
    private func perform(
        _ items: [Envelope.Item], isWhole: Bool, _ hooks: inout [@Sendable () async -> Void],
        on loop: isolated LoopActor
    ) async -> Bool {
        let answers: [Answer]
        switch items[0].content {
        case .failure(let error):
            answers = [Answer(.failure(error))]
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

/// The current work of a connection: a line, or several lines with sends.
struct LineWork {
    var lines: [ByteBuffer]
    let task: Task<Void, Never>

    private static let maxJoinedBytes = 65_536

    /// Joins waiting lines to the current one while they are sends, up to `most` and `maxJoinedBytes`.
    ///
    /// - Parameter next: returns the result of `read` for the next line, and takes the line if that is not nil.
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

    /// The number of requests that are done.
    var answered = 0

    /// The request being executed, and the ids of all requests without a response.
    ///
    /// `isWhole`: true if a response is a line, and not a part of a batch's.
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
    /// True if it sends a text, which may be executed together with others.
    var isSend: Bool { (try? content.get())?.isTextSend ?? false }
}
