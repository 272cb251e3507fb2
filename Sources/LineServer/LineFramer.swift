import NIOCore

/// Cuts a stream of bytes into lines (`docs/protocol.md`, section 1), at whatever borders the bytes come.
///
/// It holds no more than one unfinished line within the limit and what was fed and not asked for yet: of a line over
/// the limit nothing is kept. Empty lines are passed over; bytes after the last line end are no line.
///
/// A line is a slice of the bytes in which it came, without a copy, unless it came in several pieces: those are gathered
/// in storage of the line's own.
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

    /// How much storage was let go of that lines may still be slices of.
    private var releasedBytes = 0

    init(maxLineBytes: Int, maxUnendedBytes: Int = 1 << 20) {
        self.maxLineBytes = maxLineBytes
        self.maxUnendedBytes = max(maxUnendedBytes, maxLineBytes + 2)
    }

    /// How much memory is held, in bytes: storage, of which a few readable bytes may hold much.
    var heldBytes: Int { self.bytes.storageCapacity + self.later.storageCapacity + self.beginning.storageCapacity }

    /// How much storage was let go of since this was asked last: the newest line is the last that may hold it.
    mutating func takeReleasedBytes() -> Int {
        defer { self.releasedBytes = 0 }
        return self.releasedBytes
    }

    /// Takes the bytes that came next.
    mutating func feed(_ more: ByteBuffer) {
        guard !self.isEndless else { return }
        if self.bytes.readableBytes > 0 {
            self.later.writeImmutableBuffer(more)
        } else if more.storageCapacity > 4_096, more.readableBytes < more.storageCapacity / 8 {
            // Lines are not to hold on to so much more than they are, and TLS uses its buffer again where nobody does.
            self.bytes = ByteBuffer(bytes: more.readableBytesView)
        } else {
            self.bytes = more
        }
    }

    /// The next event; nil until more is fed.
    mutating func next() -> Event? {
        if let discarded = self.discarded, discarded > self.maxUnendedBytes { return self.endlessly() }
        while !self.isEndless, self.bytes.readableBytes > 0 {
            let event: Event? =
                if let count = firstLineEnd(in: self.bytes.readableBytesSpan, from: 0) {
                    self.endLine(after: count)
                } else {
                    self.goOn(by: self.bytes.readableBytes)
                }
            if let event { return event }
        }
        return nil
    }

    /// A line end stands after so many bytes.
    private mutating func endLine(after count: Int) -> Event? {
        if let discarded = self.discarded {
            self.discarded = nil
            self.consume(count + 1)
            return discarded + count > self.maxUnendedBytes ? self.endlessly() : nil
        }
        let length = self.length(with: count)
        // Where it is endless too, the next call says so.
        if length > self.maxLineBytes { return self.discard(count) }
        var line: ByteBuffer
        if self.beginning.readableBytes == 0 {
            line = self.bytes
        } else {
            line = self.beginning
            self.beginning = ByteBuffer()
            line.writeBytes(self.bytes.readableBytesView.prefix(count))
            self.releasedBytes += line.storageCapacity
        }
        self.consume(count + 1)
        return length > 0 ? line.readSlice(length: length).map { .line($0) } : nil
    }

    /// No line end is in sight.
    private mutating func goOn(by count: Int) -> Event? {
        if let discarded = self.discarded {
            self.discarded = discarded + count
            self.consume(count)
            return discarded + count > self.maxUnendedBytes ? self.endlessly() : nil
        }
        if self.length(with: count) > self.maxLineBytes { return self.discard(count) }
        self.beginning.writeImmutableBuffer(self.bytes)
        self.consume(count)
        return nil
    }

    /// How long the line is with so many bytes more, if it ends there: the last may be the first of `\r\n`.
    private func length(with count: Int) -> Int {
        let last =
            count > 0
            ? self.bytes.getInteger(at: self.bytes.readerIndex + count - 1, as: UInt8.self)
            : self.beginning.readableBytesView.last
        return self.beginning.readableBytes + count - (last == UInt8(ascii: "\r") ? 1 : 0)
    }

    /// Keeps nothing of a line that is over the limit.
    private mutating func discard(_ count: Int) -> Event {
        self.discarded = self.beginning.readableBytes + count
        self.beginning = ByteBuffer()
        self.consume(count)
        return .tooLong
    }

    private mutating func endlessly() -> Event {
        self.isEndless = true
        self.discarded = nil
        self.releasedBytes += self.bytes.storageCapacity
        self.bytes = ByteBuffer()
        self.later = ByteBuffer()
        return .endless
    }

    private mutating func consume(_ count: Int) {
        self.bytes.moveReaderIndex(forwardBy: count)
        guard self.bytes.readableBytes == 0 else { return }
        // Letting go of the storage is what makes an idle connection small, and lets the socket's buffer be used again.
        self.releasedBytes += self.bytes.storageCapacity
        self.bytes = self.later
        self.later = ByteBuffer()
    }
}
