import NIOCore

/// Cuts a stream of bytes into lines (`docs/protocol.md`, section 1), at whatever borders the bytes come.
///
/// It holds no more than one unfinished line within the limit and what was fed and not asked for yet: of a line over
/// the limit nothing is kept. Empty lines are passed over; bytes after the last line end are no line.
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

    private var bytes = ByteBuffer()

    /// How many of the bytes are known to hold no line end.
    private var scanned = 0

    /// How much of an over-long line has gone by; nil outside of one.
    private var discarded: Int?

    private var isEndless = false

    init(maxLineBytes: Int, maxUnendedBytes: Int = 1 << 20) {
        self.maxLineBytes = maxLineBytes
        self.maxUnendedBytes = max(maxUnendedBytes, maxLineBytes + 2)
    }

    /// How much memory is held, in bytes.
    var heldBytes: Int { self.bytes.storageCapacity }

    /// Takes the bytes that came next.
    mutating func feed(_ more: ByteBuffer) {
        guard !self.isEndless else { return }
        if self.bytes.readableBytes == 0 {
            self.bytes = more
            self.scanned = 0
        } else {
            self.bytes.writeImmutableBuffer(more)
        }
    }

    /// The next event; nil until more is fed.
    mutating func next() -> Event? {
        if let discarded = self.discarded, discarded > self.maxUnendedBytes { return self.endlessly() }
        while !self.isEndless, self.bytes.readableBytes > 0 {
            guard let count = firstLineEnd(in: self.bytes.readableBytesSpan, from: self.scanned) else {
                return self.withoutEnd()
            }
            let end = self.bytes.readerIndex + count
            self.scanned = 0
            if let discarded = self.discarded {
                self.discarded = nil
                self.consume(count + 1)
                if discarded + count > self.maxUnendedBytes { return self.endlessly() }
                continue
            }
            var length = count
            if length > 0, self.bytes.getInteger(at: end - 1, as: UInt8.self) == UInt8(ascii: "\r") { length -= 1 }
            if length > self.maxLineBytes {
                // Where it is endless too, the next call says so.
                self.discarded = count
                self.consume(count)
                return .tooLong
            }
            let line = self.bytes.getSlice(at: self.bytes.readerIndex, length: length)
            self.consume(count + 1)
            if length > 0, let line { return .line(line) }
        }
        return nil
    }

    /// No line end is in sight.
    private mutating func withoutEnd() -> Event? {
        let count = self.bytes.readableBytes
        if let discarded = self.discarded {
            self.discarded = discarded + count
            self.consume(count)
            return discarded + count > self.maxUnendedBytes ? self.endlessly() : nil
        }
        self.scanned = count
        // The byte past the limit may be the first of `\r\n`.
        let last = self.bytes.getInteger(at: self.bytes.writerIndex - 1, as: UInt8.self)
        let isOver = count > self.maxLineBytes + (last == UInt8(ascii: "\r") ? 1 : 0)
        guard isOver else {
            self.compact()
            return nil
        }
        self.discarded = count
        self.scanned = 0
        self.consume(count)
        return .tooLong
    }

    private mutating func endlessly() -> Event {
        self.isEndless = true
        self.discarded = nil
        self.bytes = ByteBuffer()
        return .endless
    }

    private mutating func consume(_ count: Int) {
        self.bytes.moveReaderIndex(forwardBy: count)
        // Letting go of the storage is what makes an idle connection small, and lets the socket's buffer be used again.
        if self.bytes.readableBytes == 0 { self.bytes = ByteBuffer() }
    }

    /// Keeps the beginning of a line from holding on to a much larger buffer of lines long gone.
    private mutating func compact() {
        guard self.bytes.storageCapacity > 4_096, self.bytes.readableBytes < self.bytes.storageCapacity / 8 else {
            return
        }
        self.bytes = ByteBuffer(bytes: self.bytes.readableBytesView)
    }
}
