@testable import ChangeFeed
@testable import Foundations
import NIOCore
@testable import WireProtocol

@testable import LineServer
@testable import Messaging

/// The invariants of any stream, shared by the fuzzer and the tests of fuzzed lines.
///
/// It computes the expected result differently from the code, and slower.
struct StreamInvariants {
    let maxLineBytes: Int
    let maxUnendedBytes: Int

    /// A violated invariant with its bytes.
    struct Violation: Error, CustomStringConvertible {
        let description: String

        init(_ what: String, _ bytes: [UInt8]) {
            description = "\(what): \(JSON.string(String(decoding: bytes, as: UTF8.self)).text)"
        }
    }

    /// Feeds the stream in pieces, and compares the framed lines with the whole stream and each line with its possible
    /// results. Returns the number of lines.
    @discardableResult
    func check(_ stream: [UInt8], pieces: [Int]) throws(Violation) -> Int {
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
            // Only the beginning of one line is held, in storage of a power of two.
            guard framer.heldBytes <= 2 * (maxLineBytes + 2) else {
                throw Violation("\(framer.heldBytes) bytes are held of a piece of \(size)", stream)
            }
            place = end
            turn += 1
        }
        guard found == expected else { throw Violation("cut otherwise in pieces of \(pieces)", stream) }
        try checkAnswers(to: found, targetBatchBytes: 16 * max(1, pieces.first ?? 1), stream)
        var count = 0
        for case .line(let line) in found {
            count += 1
            try Self.check(line: Array(line.readableBytesView))
        }
        return count
    }

    /// Splits the whole stream into lines.
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
    /// Answers all lines like a connection whose client receives pushes and takes a write batch after every third. Each
    /// request must be answered once and in order, batches on one line, and nothing may be inside a line.
    private func checkAnswers(
        to events: [LineFramer.Event], targetBatchBytes: Int, _ stream: [UInt8]
    ) throws(Violation) {
        var queue = OutboundQueue(maxQueueBytes: .max, targetBatchBytes: targetBatchBytes)
        queue.startPushes(cursor: "")
        var bytes = ByteBuffer()
        var requests: [(ids: [JSON], isWhole: Bool)] = []
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
            if !ids.isEmpty { requests.append((ids, isWhole)) }
        }
        while !queue.isEmpty { Self.take(from: &queue, into: &bytes) }
        guard queue.waitingBytes == 0 else { throw Violation("the count of waiting bytes is wrong", stream) }

        var answers = requests.makeIterator()
        var pushes = 0
        let lines = bytes.readableBytesView.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in lines.dropLast() {
            if line.elementsEqual("\(pushes)".utf8) {
                pushes += 1
                continue
            }
            guard let answered = try? JSON(parsing: Array(line)), let (ids, isWhole) = answers.next(),
                answered.ids(isWhole: isWhole) == ids
            else { throw Violation("wrong response: \(String(decoding: line, as: UTF8.self))", stream) }
        }
        guard pushes == turn, answers.next() == nil else { throw Violation("a response or push is missing", stream) }
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
    /// Returns the ids of a response or of a batch's responses, or nil if it is neither.
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
    /// Checks one line: its JSON prints and parses to the same value, and each request has one response.
    static func check(line: [UInt8]) throws(Violation) {
        var value: JSON?
        do throws(JSONError) {
            value = try JSON(parsing: line)
        } catch {
            guard (error == .invalidUTF8) == (String(validating: line, as: UTF8.self) == nil) else {
                throw Violation("\(error), of what is\(error == .invalidUTF8 ? "" : " not") UTF-8", line)
            }
        }
        if let value { try check(value, line) }
        switch (Envelope(ByteBuffer(bytes: line)), value) {
        case (.single(let item), .array(let elements)?):
            guard elements.isEmpty || elements.count > Envelope.maxBatchCount, item.code == .invalidRequest else {
                throw Violation("a batch was taken for one request", line)
            }
            try check(item, nil, line)
        case (.single(let item), let value):
            guard (value == nil) == [.parseError, .invalidUTF8].contains(item.code) else {
                throw Violation("JSON and the envelope do not agree", line)
            }
            try check(item, value, line)
        case (.batch(let items), .array(let elements)?) where items.count == elements.count && !items.isEmpty:
            for (item, element) in zip(items, elements) { try check(item, element, line) }
        default:
            throw Violation("a batch of more or fewer requests than stand in it", line)
        }
    }

    /// Checks that a JSON value prints and parses to itself.
    private static func check(_ value: JSON, _ line: [UInt8]) throws(Violation) {
        let text = value.text
        guard let again = try? JSON(parsing: text), again == value, again.text == text else {
            throw Violation("printed, it is another", line)
        }
        try check(numbersIn: value, line)
    }

    private static func check(numbersIn value: JSON, _ line: [UInt8]) throws(Violation) {
        switch value {
        case .null, .bool, .string: break
        case .array(let elements): for element in elements { try check(numbersIn: element, line) }
        case .object(let object): for member in object.members { try check(numbersIn: member.value, line) }
        case .number(let number):
            guard let integer = number.integer else { return }
            guard number.isInteger, number.double == Double(integer) else {
                throw Violation("\(number.text) was read as \(integer)", line)
            }
        }
    }

    /// Checks an item against its source, and its response against JSON-RPC 2.0.
    private static func check(_ item: Envelope.Item, _ value: JSON?, _ line: [UInt8]) throws(Violation) {
        let content: Answer.Content
        switch item.content {
        case .success(let request):
            guard case .object(let object)? = value, object["method"] == .string(request.method),
                object["params"] ?? .object(JSONObject()) == .object(request.params), object["id"] == item.id
            else { throw Violation("a request that does not stand there", line) }
            content = .result(ByteBuffer(string: JSON.object(request.params).text))
            read(request)
        case .failure(let error):
            content = .failure(error)
        }
        guard let id = item.id else {
            guard case .object(let object)? = value, object["id"] == nil else {
                throw Violation("a request goes unanswered", line)
            }
            return
        }
        var answer = ByteBuffer()
        answer.writeAnswer(id: id, content)
        guard !answer.readableBytesView.contains(UInt8(ascii: "\n")), let written = try? JSON(parsing: answer),
            case .object(let object) = written, object["jsonrpc"] == .string("2.0"), object["id"] == id,
            (object["result"] == nil) != (object["error"] == nil), object.members.count == 3
        else { throw Violation("an answer that is none: \(String(buffer: answer))", line) }
    }

    /// Reads a request's parameters as every type. They must be read or refused, without a trap.
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
    /// The error code, or nil if the item is a request.
    fileprivate var code: ErrorCode? {
        guard case .failure(let error) = content else { return nil }
        return error.code
    }
}
