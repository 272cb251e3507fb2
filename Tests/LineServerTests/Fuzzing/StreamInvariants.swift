import NIOCore

@testable import LineServer
@testable import Messaging

/// The invariants of any byte stream, for the fuzzer and the tests of fuzzed lines.
///
/// They are expressed differently from the code, and more slowly.
struct StreamInvariants {
    let maxLineBytes: Int
    let maxUnendedBytes: Int

    /// A violated invariant, with its bytes.
    struct Broken: Error, CustomStringConvertible {
        let description: String

        init(_ what: String, _ bytes: [UInt8]) {
            description = "\(what): \(JSON.string(String(decoding: bytes, as: UTF8.self)).text)"
        }
    }

    /// Takes the stream in pieces of those sizes, over and over, holds what comes out against the whole stream, and each
    /// line against what a line may come to; how many lines there were.
    @discardableResult
    func check(_ stream: [UInt8], pieces: [Int]) throws(Broken) -> Int {
        let expected = lines(of: stream)
        var found: [LineFramer.Event] = []
        var framer = LineFramer(maxLineBytes: maxLineBytes, maxUnendedBytes: maxUnendedBytes)
        var place = 0
        var turn = 0
        while place < stream.count {
            let size = max(1, pieces.isEmpty ? stream.count : pieces[turn % pieces.count])
            let end = min(stream.count, place + size)
            framer.feed(ByteBuffer(bytes: stream[place..<end]))
            while let event = framer.next() { found.append(event) }
            // The beginning of one line is held, in storage that is a power of two, and nothing of what came before it.
            guard framer.heldBytes <= 2 * (maxLineBytes + 2) else {
                throw Broken("\(framer.heldBytes) bytes are held of a piece of \(size)", stream)
            }
            place = end
            turn += 1
        }
        guard found == expected else { throw Broken("cut otherwise in pieces of \(pieces)", stream) }
        try checkAnswers(to: found, targetBatchBytes: 16 * max(1, pieces.first ?? 1), stream)
        var count = 0
        for case .line(let line) in found {
            count += 1
            try Self.check(line: Array(line.readableBytesView))
        }
        return count
    }

    /// The stream's lines, found by looking at all of it.
    private func lines(of stream: [UInt8]) -> [LineFramer.Event] {
        var events: [LineFramer.Event] = []
        var parts = stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let unended = parts.removeLast()
        for (part, isEnded) in parts.map({ ($0, true) }) + [(unended, false)] {
            let line = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
            if line.count > maxLineBytes {
                events.append(.tooLong)
                if part.count > max(maxUnendedBytes, maxLineBytes + 2) { return events + [.endless] }
            } else if isEnded, !line.isEmpty {
                events.append(.line(ByteBuffer(bytes: line)))
            }
        }
        return events
    }
}

extension StreamInvariants {
    /// Answers all lines as a connection does, to a client that is pushed to and takes a write batch after every third,
    /// and holds what it gets against what it asked: each request answered once, in order, batches in one line, and
    /// nothing inside a line.
    private func checkAnswers(
        to events: [LineFramer.Event], targetBatchBytes: Int, _ stream: [UInt8]
    ) throws(Broken) {
        var queue = OutboundQueue(maxQueueBytes: .max, targetBatchBytes: targetBatchBytes)
        queue.startPushes(cursor: "")
        var bytes = ByteBuffer()
        var asked: [(ids: [JSON], isWhole: Bool)] = []
        var turn = 0
        for event in events {
            let (items, isWhole) = Self.items(of: event)
            for item in items {
                guard let id = item.id else { continue }
                let content: Answer.Content =
                    switch item.content {
                    case .success(let request): .result(ByteBuffer(string: JSON.object(request.params).text))
                    case .failure(let error): .failure(error)
                    }
                queue.answer(content, id: id, isWhole: isWhole)
                _ = queue.push(Push(line: ByteBuffer(string: "\(turn)\n"), cursor: ""))
                turn += 1
                if turn % 3 == 0 { Self.take(from: &queue, into: &bytes) }
            }
            queue.endBatch()
            let ids = items.compactMap(\.id)
            if !ids.isEmpty { asked.append((ids, isWhole)) }
        }
        while !queue.isEmpty { Self.take(from: &queue, into: &bytes) }
        guard queue.waitingBytes == 0 else { throw Broken("bytes are counted that do not wait", stream) }

        var answers = asked.makeIterator()
        var pushes = 0
        let lines = bytes.readableBytesView.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in lines.dropLast() {
            if line.elementsEqual("\(pushes)".utf8) {
                pushes += 1
                continue
            }
            guard let answered = try? JSON(parsing: Array(line)), let (ids, isWhole) = answers.next(),
                answered.ids(isWhole: isWhole) == ids
            else { throw Broken("answered otherwise than asked: \(String(decoding: line, as: UTF8.self))", stream) }
        }
        guard pushes == turn, answers.next() == nil else { throw Broken("not all is answered, or pushed", stream) }
    }

    private static func items(of event: LineFramer.Event) -> (items: [Envelope.Item], isWhole: Bool) {
        switch event {
        case .endless: return ([], true)
        case .tooLong:
            let error = ProtocolError(.lineTooLong, "It was discarded.")
            return ([Envelope.Item(id: .null, content: .failure(error))], true)
        case .line(let line):
            switch Envelope(line) {
            case .single(let item): return ([item], true)
            case .batch(let items): return (items, false)
            }
        }
    }

    private static func take(from queue: inout OutboundQueue, into bytes: inout ByteBuffer) {
        if queue.isWriteInFlight { queue.writeCompleted() }
        for line in queue.nextWriteBatch() { bytes.writeImmutableBuffer(line) }
    }
}

extension JSON {
    /// The ids that an answer, or a batch's answers, carry; nil where it is none.
    fileprivate func ids(isWhole: Bool) -> [JSON]? {
        switch self {
        case .object(let answer) where isWhole: return answer["id"].map { [$0] }
        case .array(let answers) where !isWhole:
            return answers.compactMap { if case .object(let answer) = $0 { answer["id"] } else { nil } }
        default: return nil
        }
    }
}

extension StreamInvariants {
    /// Holds one line against what a line may come to: JSON that prints and parses to the same, and an answer for each
    /// request that is none too many and none too few.
    static func check(line: [UInt8]) throws(Broken) {
        var value: JSON?
        do throws(JSONError) {
            value = try JSON(parsing: line)
        } catch {
            guard (error == .invalidUTF8) == (String(validating: line, as: UTF8.self) == nil) else {
                throw Broken("\(error), of what is\(error == .invalidUTF8 ? "" : " not") UTF-8", line)
            }
        }
        if let value { try check(value, line) }
        switch (Envelope(ByteBuffer(bytes: line)), value) {
        case (.single(let item), .array(let elements)?):
            guard elements.isEmpty || elements.count > Envelope.maxBatchCount, item.code == .invalidRequest else {
                throw Broken("a batch was taken for one request", line)
            }
            try check(item, nil, line)
        case (.single(let item), let value):
            guard (value == nil) == [.parseError, .invalidUTF8].contains(item.code) else {
                throw Broken("JSON and the envelope do not agree", line)
            }
            try check(item, value, line)
        case (.batch(let items), .array(let elements)?) where items.count == elements.count && !items.isEmpty:
            for (item, element) in zip(items, elements) { try check(item, element, line) }
        default:
            throw Broken("a batch of more or fewer requests than stand in it", line)
        }
    }

    /// Holds a JSON value against itself, printed and parsed.
    private static func check(_ value: JSON, _ line: [UInt8]) throws(Broken) {
        let text = value.text
        guard let again = try? JSON(parsing: text), again == value, again.text == text else {
            throw Broken("printed, it is another", line)
        }
        try check(numbersIn: value, line)
    }

    private static func check(numbersIn value: JSON, _ line: [UInt8]) throws(Broken) {
        switch value {
        case .null, .bool, .string: break
        case .array(let elements): for element in elements { try check(numbersIn: element, line) }
        case .object(let object): for member in object.members { try check(numbersIn: member.value, line) }
        case .number(let number):
            guard let integer = number.integer else { return }
            guard number.isInteger, number.double == Double(integer) else {
                throw Broken("\(number.text) was read as \(integer)", line)
            }
        }
    }

    /// Holds an item against what it was read from, and its answer against JSON-RPC 2.0.
    private static func check(_ item: Envelope.Item, _ value: JSON?, _ line: [UInt8]) throws(Broken) {
        let content: Answer.Content
        switch item.content {
        case .success(let request):
            guard case .object(let object)? = value, object["method"] == .string(request.method),
                object["params"] ?? .object(JSONObject()) == .object(request.params), object["id"] == item.id
            else { throw Broken("a request that does not stand there", line) }
            content = .result(ByteBuffer(string: JSON.object(request.params).text))
            read(request)
        case .failure(let error):
            content = .failure(error)
        }
        guard let id = item.id else {
            guard case .object(let object)? = value, object["id"] == nil else {
                throw Broken("a request goes unanswered", line)
            }
            return
        }
        var answer = ByteBuffer()
        answer.writeAnswer(id: id, content)
        guard !answer.readableBytesView.contains(UInt8(ascii: "\n")), let written = try? JSON(parsing: answer),
            case .object(let object) = written, object["jsonrpc"] == .string("2.0"), object["id"] == id,
            (object["result"] == nil) != (object["error"] == nil), object.members.count == 3
        else { throw Broken("an answer that is none: \(String(buffer: answer))", line) }
    }

    /// Holds a request's params against their declarations, and reads them as each type there is, whatever came of that:
    /// they must be refused or read, and never trap.
    private static func read(_ request: Request) {
        guard let operation = try? Operation.named(request.method),
            let params = try? Params(request.params, of: operation)
        else { return }
        try? params.check()
        for name in operation.parameters.names {
            _ = try? params.required(name)
            _ = params.integer(name)
            _ = params.bool(name)
            _ = params.uuid(name)
            _ = params.uuids(name)
            _ = params.object(name)
            if let text = params.string(name) {
                if let cursor = Cursor(text) { _ = Cursor(cursor.text) }
                _ = ID(text)
            }
        }
    }
}

extension Envelope.Item {
    /// The error code, or nil.
    fileprivate var code: ErrorCode? {
        guard case .failure(let error) = content else { return nil }
        return error.code
    }
}
