import Messaging
import NIOCore

/// Cuts a stream of bytes into lines (`docs/protocol.md`, section 1), at whatever borders the bytes come.
///
/// It holds no more than one unfinished line within the limit and what was fed and not asked for yet: of a line over
/// the limit nothing is kept. Empty lines are passed over; bytes after the last line end are no line.
///
/// A line is a slice of the bytes in which it came, without a copy, unless it came in several pieces: those are gathered
/// in storage of the line's own.
///
/// Of a request of HTTP its first line is one, whose answer says which port it wants; the fields of its header are not.
struct LineFramer {
    /// What the bytes held, in their order.
    enum Event: Equatable {
        /// A line without its line end: 1 to `maxLineBytes` bytes.
        case line(ByteBuffer)

        /// A line over the limit, told once, as soon as it is over; its rest is discarded.
        case tooLong

        /// More than `maxUnendedBytes` came without a line end. Nothing is read from here on.
        case endless
    }

    /// The largest line, in bytes, without its line end.
    let maxLineBytes: Int

    /// How much may come without a line end, in bytes.
    let maxUnendedBytes: Int

    /// What is not cut yet.
    private var bytes = ByteBuffer()

    /// What was fed while there was something to cut.
    private var later = ByteBuffer()

    /// The line whose end has not come, in storage of its own: what came before it is not held on to.
    private var beginning = ByteBuffer()

    /// How much of an over-long line has gone by; nil outside of one.
    private var discarded: Int?

    private var isEndless = false

    /// Whether the newest line is the first of a request of HTTP, but for its fields.
    private var isInHTTP = false

    /// How much storage was let go of that lines may still be slices of.
    private var releasedBytes = 0

    init(maxLineBytes: Int, maxUnendedBytes: Int = 1 << 20) {
        self.maxLineBytes = maxLineBytes
        self.maxUnendedBytes = max(maxUnendedBytes, maxLineBytes + 2)
    }

    /// How much memory is held, in bytes: storage, of which a few readable bytes may hold much.
    var heldBytes: Int { bytes.storageCapacity + later.storageCapacity + beginning.storageCapacity }

    /// How much storage was let go of since this was asked last: the newest line is the last that may hold it.
    mutating func takeReleasedBytes() -> Int {
        defer { releasedBytes = 0 }
        return releasedBytes
    }

    /// Takes the bytes that came next.
    mutating func feed(_ more: ByteBuffer) {
        guard !isEndless else { return }
        if self.bytes.readableBytes > 0 {
            later.writeImmutableBuffer(more)
        } else if more.storageCapacity > 4_096, more.readableBytes < more.storageCapacity / 8 {
            // Lines are not to hold on to so much more than they are, and TLS uses its buffer again where nobody does.
            self.bytes = ByteBuffer(bytes: more.readableBytesView)
        } else {
            self.bytes = more
        }
    }

    /// The next event; nil until more is fed.
    mutating func next() -> Event? {
        if let discarded = self.discarded, discarded > maxUnendedBytes { return endlessly() }
        while !isEndless, bytes.readableBytes > 0 {
            skipEmptyLines()
            guard bytes.readableBytes > 0 else { break }
            let event: Event? =
                if let count = firstLineEnd(in: bytes.readableBytesSpan, from: 0) {
                    endLine(after: count)
                } else {
                    continueLine(by: bytes.readableBytes)
                }
            if let event { return event }
        }
        return nil
    }

    /// Skips the empty lines at the beginning of the bytes. Cut one by one, a flood of them took 100 ns each.
    private mutating func skipEmptyLines() {
        guard beginning.readableBytes == 0, discarded == nil else { return }
        let count = Self.countOfEmptyLines(bytes.readableBytesUInt8Span)
        if count > 0 { consume(count) }
    }

    /// Returns the number of bytes that the empty lines at the beginning take.
    private static func countOfEmptyLines(_ bytes: Span<UInt8>) -> Int {
        var count = 0
        while count < bytes.count {
            if bytes[count] == UInt8(ascii: "\n") {
                count += 1
            } else if bytes[count] == UInt8(ascii: "\r"), count + 1 < bytes.count,
                bytes[count + 1] == UInt8(ascii: "\n")
            {
                count += 2
            } else {
                break
            }
        }
        return count
    }

    /// A line end stands after so many bytes.
    private mutating func endLine(after count: Int) -> Event? {
        if let discarded = self.discarded {
            self.discarded = nil
            consume(count + 1)
            return discarded + count > maxUnendedBytes ? endlessly() : nil
        }
        let length = self.length(with: count)
        // Where it is endless too, the next call says so.
        if length > maxLineBytes { return discard(count) }
        var line: ByteBuffer
        if beginning.readableBytes == 0 {
            line = bytes
        } else {
            line = beginning
            beginning = ByteBuffer()
            line.writeBytes(bytes.readableBytesView.prefix(count))
            releasedBytes += line.storageCapacity
        }
        consume(count + 1)
        guard length > 0, let line = line.readSlice(length: length) else { return nil }
        if isInHTTP, line.isFieldOfHTTP { return nil }
        isInHTTP = line.isRequestOfHTTP
        return .line(line)
    }

    /// No line end is in sight.
    private mutating func continueLine(by count: Int) -> Event? {
        if let discarded = self.discarded {
            self.discarded = discarded + count
            consume(count)
            return discarded + count > maxUnendedBytes ? endlessly() : nil
        }
        if length(with: count) > maxLineBytes { return discard(count) }
        beginning.writeImmutableBuffer(bytes)
        consume(count)
        return nil
    }

    /// How long the line is with so many bytes more, if it ends there: the last may be the first of `\r\n`.
    private func length(with count: Int) -> Int {
        let last =
            count > 0
            ? bytes.getInteger(at: bytes.readerIndex + count - 1, as: UInt8.self)
            : beginning.readableBytesView.last
        return beginning.readableBytes + count - (last == UInt8(ascii: "\r") ? 1 : 0)
    }

    /// Keeps nothing of a line that is over the limit.
    private mutating func discard(_ count: Int) -> Event {
        discarded = beginning.readableBytes + count
        beginning = ByteBuffer()
        consume(count)
        return .tooLong
    }

    private mutating func endlessly() -> Event {
        isEndless = true
        discarded = nil
        releasedBytes += bytes.storageCapacity
        bytes = ByteBuffer()
        later = ByteBuffer()
        return .endless
    }

    private mutating func consume(_ count: Int) {
        bytes.moveReaderIndex(forwardBy: count)
        guard bytes.readableBytes == 0 else { return }
        // Letting go of the storage is what makes an idle connection small, and lets the socket's buffer be used again.
        releasedBytes += bytes.storageCapacity
        bytes = later
        later = ByteBuffer()
    }
}
