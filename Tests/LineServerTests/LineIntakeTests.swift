import NIOCore
import Testing

@testable import LineServer

@Suite("Line intake")
final class LineIntakeTests {
    var lines = LineIntake(LineFramer(maxLineBytes: 1_000), maxCount: 2)

    @Test("one is at work at a time, and no more wait than may")
    func order() {
        lines.feed(ByteBuffer(string: "a\nb\nc\n"))
        #expect(lines.begin() == nil)
        lines.take()
        #expect(lines.isFull && lines.isReady && !lines.isBusy)
        #expect(lines.begin() == .line(ByteBuffer(string: "a")))
        #expect(lines.isBusy && !lines.isReady && lines.isFull)
        #expect(lines.begin() == nil)
        lines.end()
        lines.take()
        #expect(lines.begin() == .line(ByteBuffer(string: "b")))
        lines.end()
        #expect(lines.begin() == .line(ByteBuffer(string: "c")))
        lines.end()
        #expect(lines.isEmpty && !lines.isFull)
    }

    @Test("what waits behind the line at work may join it, in order, and is done with it")
    func join() {
        lines.feed(ByteBuffer(string: "a\nb\nc\nd\n"))
        #expect(lines.join { String(buffer: $0) } == nil)
        lines.take()
        #expect(lines.join { String(buffer: $0) } == nil)
        _ = lines.begin()
        #expect(lines.join { _ in String?.none } == nil)
        #expect(lines.join { String(buffer: $0) } == "b")
        #expect(lines.isFull && lines.isBusy)
        #expect(lines.join { String(buffer: $0) } == nil)
        lines.take()
        #expect(lines.waitingCount == 0)
        lines.end()
        lines.take()
        #expect(lines.begin() == .line(ByteBuffer(string: "c")))
        #expect(lines.join { String(buffer: $0) } == "d")
        lines.end()
        #expect(lines.isEmpty)
        #expect(lines.heldBytes == 0)
    }

    @Test("what is held comes back when the line that holds it is done")
    func storage() {
        var bytes = ByteBuffer()
        bytes.writeString("a\nb\n")
        let capacity = bytes.storageCapacity
        lines.feed(bytes)
        #expect(lines.heldBytes == capacity)
        lines.take()
        _ = lines.begin()
        lines.end()
        // The second is a slice of the same storage.
        #expect(lines.heldBytes == capacity)
        _ = lines.begin()
        #expect(lines.heldBytes == capacity)
        lines.end()
        #expect(lines.heldBytes == 0)
    }

    @Test("of what is forgotten the line at work is left, and what it holds")
    func forget() {
        lines.feed(ByteBuffer(string: "a\nb\n"))
        lines.take()
        _ = lines.begin()
        lines.forget()
        #expect(lines.isBusy && lines.waitingCount == 0)
        lines.end()
        #expect(lines.isEmpty)
        #expect(lines.heldBytes == 0)
    }
}
