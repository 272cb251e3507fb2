import ChangeFeed
import Messaging
import NIOCore
import Testing
import WireProtocol

@testable import LineServer

@Suite("Connection state machine")
final class ConnectionStateMachineTests {
    typealias Action = ConnectionStateMachine.Action

    let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    let configuration = LineServer.Configuration.test {
        $0.maxInFlight = 3
        $0.pingInterval = .seconds(30)
        $0.requestTimeout = .seconds(60)
        $0.slowConsumerTimeout = .seconds(20)
        $0.lingerTimeout = .seconds(2)
    }
    lazy var state = ConnectionStateMachine(
        configuration, writeBatchBytes: 1 << 16, now: start, opensUntil: start + .seconds(60))

    /// Returns the pending actions and collects written lines. Writes complete at once unless `completesWrites` is false.
    func actions(completesWrites: Bool = true) -> [Action] {
        var actions: [Action] = []
        while let action = state.next() {
            actions.append(action)
            guard action == .flush else { continue }
            written += state.nextWriteBatch(start).map { String(String(buffer: $0).dropLast()) }
            if completesWrites, state.queue.isWriteInFlight { state.writeCompleted() }
        }
        return actions
    }
    var written: [String] = []

    /// Returns the actions at the end of the turn.
    func endOfTurn() -> [Action] { state.flushIsDue() ? actions() : [] }

    /// Opens the connection, and writes the greeting.
    func open() {
        state.open(with: ByteBuffer(string: "hello\n"))
        #expect(actions().last == .flushLater)
        #expect(endOfTurn() == [.flush])
        #expect(written == ["hello"])
        state.setExpiry(nil, start)
        written = []
    }

    func receive(_ text: String) {
        state.read(ByteBuffer(string: text))
        state.readIsOver()
    }

    func answer(_ id: Int64, _ text: String = "true", isWhole: Bool = true) {
        state.answer(.result(ByteBuffer(string: text)), id: .number(JSONNumber(id)), isWhole: isWhole)
    }

    func line(_ text: String) -> Action { .begin(.line(ByteBuffer(string: text))) }

    @Test("discards bytes until the connection is open")
    func opening() {
        #expect(actions() == [.read])
        receive("one\n")
        #expect(actions() == [.read])
        open()
    }

    @Test("a line begins after the one before is done")
    func order() {
        open()
        receive("one\ntwo\n")
        #expect(actions() == [line("one"), .read])
        #expect(state.turn == 1)
        receive("three\n")
        #expect(actions() == [])
        state.lineIsDone()
        #expect(actions() == [line("two"), .read])
        #expect(state.turn == 2)
    }

    @Test("pauses reading at the limit of open lines")
    func inFlight() {
        open()
        receive("1\n2\n3\n4\n")
        #expect(actions() == [line("1")])
        state.lineIsDone()
        #expect(actions() == [line("2")])
        state.lineIsDone()
        #expect(actions() == [line("3"), .read])
    }

    @Test("writes a response at the end of the turn, or of the next")
    func answers() {
        open()
        receive("1\n2\n")
        _ = actions()
        answer(1)
        #expect(actions() == [.flushLater])
        state.lineIsDone()
        #expect(actions() == [line("2")])
        #expect(endOfTurn() == [])
        answer(2)
        state.lineIsDone()
        #expect(endOfTurn() == [.flush])
        #expect(written == [#"{"jsonrpc":"2.0","id":1,"result":true}"#, #"{"jsonrpc":"2.0","id":2,"result":true}"#])
    }

    @Test("a line waits until the client has room for its response")
    func room() {
        open()
        receive("1\n2\n")
        #expect(actions() == [line("1"), .read])
        answer(1, #""\#(String(repeating: "x", count: 200_000))""#)
        state.lineIsDone()
        // Queued bytes leave at once. Each completed write starts the next batch.
        #expect(actions(completesWrites: false) == [.flush])
        for _ in 0..<2 {
            state.writeCompleted()
            #expect(actions(completesWrites: false) == [.flush])
        }
        #expect(state.queue.unwrittenAnswerBytes > 65_536)
        state.writeCompleted()
        #expect(actions(completesWrites: false).contains(line("2")))
    }

    @Test("a batch resumes when there is room or the client has gone")
    func batches() {
        open()
        receive("[]\n")
        _ = actions()
        state.awaitRoom()
        #expect(actions() == [.resumeBatch])
        answer(1, #""\#(String(repeating: "x", count: 200_000))""#, isWhole: false)
        state.awaitRoom()
        #expect(!actions(completesWrites: false).contains(.resumeBatch))
        state.close()
        #expect(actions() == [.resumeBatch])
        state.lineIsDone()
        #expect(actions() == [.endSession])
    }

    @Test("answers a client that ended its side, then closes")
    func end() {
        open()
        receive("1\n2")
        #expect(actions() == [line("1"), .read])
        state.inputIsOver()
        state.readIsOver()
        #expect(actions() == [])
        answer(1)
        state.lineIsDone()
        #expect(actions() == [.flushLater])
        #expect(endOfTurn() == [.flush, .close(.whole)])
        #expect(actions() == [])
    }

    @Test("a goodbye follows the running request and drops waiting ones")
    func goodbye() {
        open()
        receive("1\n2\n")
        _ = actions()
        answer(1)
        state.leave(.shuttingDown, keepingAnswers: true)
        #expect(actions() == [.count(.goodbye(.shuttingDown)), .flushLater])
        state.lineIsDone()
        #expect(actions() == [.endSession])
        #expect(endOfTurn() == [.flush, .close(.output)])
        #expect(written.count == 2 && written[1].contains("shutting_down"))
        state.leave(.lineTooLong, keepingAnswers: true)
        answer(2)
        #expect(actions().filter { $0 != .flushLater } == [])
        state.inputIsOver()
        #expect(actions() == [.close(.whole)])
    }

    @Test("a shutdown finishes accepted requests before its goodbye")
    func finishing() {
        open()
        receive("1\n2\n")
        _ = actions()
        state.finish(.shuttingDown)
        state.readIsOver()
        #expect(actions() == [])
        state.lineIsDone()
        #expect(actions() == [line("2")])
        state.lineIsDone()
        #expect(actions().prefix(2) == [.count(.goodbye(.shuttingDown)), .endSession])
    }

    @Test("a shutdown closes an unopened connection at once")
    func finishingEarly() {
        state.finish(.shuttingDown)
        #expect(actions().first == .close(.cut))
    }

    @Test("a slow consumer gets one lag notice, then is closed")
    func lag() {
        open()
        state.startPushes(cursor: "c0")
        let push = Push(line: ByteBuffer(string: String(repeating: "p", count: 300_000) + "\n"), cursor: "c1")
        state.push(push, start)
        #expect(actions(completesWrites: false) == [.flush])
        for _ in 0..<3 { state.push(push, start) }
        #expect(actions(completesWrites: false) == [])
        state.push(push, start)
        #expect(actions(completesWrites: false) == [.count(.lagged)])
        state.push(push, start)
        #expect(actions(completesWrites: false) == [])
        state.sweep(start + .seconds(19)) { 0 }
        #expect(actions(completesWrites: false) == [])
        state.sweep(start + .seconds(20)) { 0 }
        #expect(actions(completesWrites: false).first == .count(.goodbye(.slowConsumer)))
    }

    @Test("waits for a write that progresses, and closes on a stalled one")
    func stall() {
        open()
        state.startPushes(cursor: "c0")
        state.push(Push(line: ByteBuffer(string: String(repeating: "p", count: 70_000)), cursor: "c1"), start)
        _ = actions(completesWrites: false)
        for seconds in 0..<60 {
            state.sweep(start + .seconds(Int64(seconds))) { 60_000 - seconds }
            #expect(actions(completesWrites: false) == [])
        }
        state.sweep(start + .seconds(78)) { 60_000 - 59 }
        #expect(actions(completesWrites: false) == [])
        state.sweep(start + .seconds(79)) { 60_000 - 59 }
        #expect(actions(completesWrites: false).first == .count(.goodbye(.slowConsumer)))
    }

    @Test("each deadline closes its connection")
    func deadlines() {
        state.sweep(start + .seconds(59)) { 0 }
        #expect(actions() == [.read])
        var late = state
        late.sweep(start + .seconds(60)) { 0 }
        #expect(late.next() == .timeOutHandshake)

        open()
        receive("1\n")
        _ = actions()
        state.requestBegan(at: start)
        state.sweep(start + .seconds(59)) { 0 }
        written = []
        state.sweep(start + .seconds(60)) { 0 }
        #expect(actions().first == .timeOutRequest)
        #expect(state.turn == 2)

        state.setExpiry(Expiry(seconds: 5, goodbye: .shuttingDown), start)
        state.sweep(start + .seconds(4)) { 0 }
        #expect(!state.isLeaving)
        state.sweep(start + .seconds(5)) { 0 }
        #expect(state.isLeaving)
    }

    @Test("a quiet client gets a ping with its cursor")
    func ping() {
        open()
        state.startPushes(cursor: "c7")
        state.sweep(start + .seconds(29)) { 0 }
        #expect(actions() == [])
        state.sweep(start + .seconds(30)) { 0 }
        #expect(actions() == [.flushLater])
        #expect(endOfTurn() == [.flush])
        #expect(written == [#"{"jsonrpc":"2.0","method":"server.ping","params":{"cursor":"c7"}}"#])
    }

    @Test("closes when a goodbye is not read in time")
    func linger() {
        open()
        state.leave(.shuttingDown, keepingAnswers: true)
        _ = actions()
        state.sweep(start) { 0 }
        state.sweep(start + .seconds(1)) { 0 }
        #expect(!actions().contains(.close(.cut)))
        state.sweep(start + .seconds(2)) { 0 }
        #expect(actions() == [.close(.cut)])
    }
}
