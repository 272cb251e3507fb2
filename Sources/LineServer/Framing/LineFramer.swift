import NIOCore
import WireProtocol

/// A parser that cuts a stream of bytes into lines (`docs/protocol.md`, section 1), at any chunk borders.
///
/// It holds at most one unfinished line within the limit and the input not yet consumed. Of a line over the limit it
/// keeps nothing. It skips empty lines and ignores bytes after the last line end.
///
/// A line is a slice of the input, without a copy. A line that came in several chunks is gathered in its own storage.
///
/// The first line of an HTTP request counts as a line, and its response names the HTTP port. Its header fields are
/// skipped.
struct LineFramer {
    /// A result of parsing, in the order of the input.
    enum Event: Equatable {
        /// A line without its line end: 1 to `maxLineBytes` bytes.
        case line(ByteBuffer)

        /// A line over the limit, reported once, as soon as it exceeds it. Its remaining bytes are discarded.
        case tooLong

        /// More than `maxUnendedBytes` came without a line end. All further input is ignored.
        case endless

        /// The cost of the event for its event loop's turn. Each 4 KiB cost as much as another line.
        var turnCost: Int {
            if case .line(let line) = self { 1 + line.readableBytes / 4_096 } else { 1 }
        }
    }

    /// The maximum line length in bytes, without the line end.
    let maxLineBytes: Int

    /// The maximum number of bytes without a line end.
    let maxUnendedBytes: Int

    /// Input that is not parsed yet.
    private var bytes = ByteBuffer()

    /// Input that came while `bytes` was not empty.
    private var later = ByteBuffer()

    /// The unfinished line, in its own storage, so that it does not retain the input before it.
    private var beginning = ByteBuffer()

    /// The discarded bytes of the current over-long line, or nil outside of one.
    private var discarded: Int?

    private var isEndless = false

    /// True if the newest line begins an HTTP request, until a line that is no header field.
    private var isInHTTP = false

    /// Released storage in bytes, which lines may still slice.
    private var releasedBytes = 0

    init(maxLineBytes: Int, maxUnendedBytes: Int = 1 << 20) {
        self.maxLineBytes = maxLineBytes
        self.maxUnendedBytes = max(maxUnendedBytes, maxLineBytes + 2)
    }

    /// Memory held, in bytes of storage: a few readable bytes may retain much.
    var heldBytes: Int { bytes.storageCapacity + later.storageCapacity + beginning.storageCapacity }

    /// Returns the storage released since the last call. The newest line is the last that may retain it.
    mutating func takeReleasedBytes() -> Int {
        defer { releasedBytes = 0 }
        return releasedBytes
    }

    /// Appends input.
    mutating func feed(_ more: ByteBuffer) {
        guard !isEndless else { return }
        if self.bytes.readableBytes > 0 {
            later.writeImmutableBuffer(more)
        } else if more.storageCapacity > 4_096, more.readableBytes < more.storageCapacity / 8 {
            // A line must not retain a buffer much larger than itself, and TLS reuses a buffer that nothing retains.
            self.bytes = ByteBuffer(bytes: more.readableBytesView)
        } else {
            self.bytes = more
        }
    }

    /// Returns the next event, or nil if it needs more input.
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

    /// Skips leading empty lines. Cut separately, a flood of them took 100 ns each.
    private mutating func skipEmptyLines() {
        guard beginning.readableBytes == 0, discarded == nil else { return }
        let count = Self.countOfEmptyLines(bytes.readableBytesUInt8Span)
        if count > 0 { consume(count) }
    }

    /// Returns the length of the leading empty lines in bytes.
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

    /// Ends the current line, whose line end follows `count` bytes.
    private mutating func endLine(after count: Int) -> Event? {
        if let discarded = self.discarded {
            self.discarded = nil
            consume(count + 1)
            return discarded + count > maxUnendedBytes ? endlessly() : nil
        }
        let length = self.length(with: count)
        // If the line is endless too, the next call reports it.
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

    /// Consumes `count` bytes that contain no line end.
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

    /// Returns the length of the line if it ends after `count` more bytes. A final `\r` belongs to the line end.
    private func length(with count: Int) -> Int {
        let last =
            count > 0
            ? bytes.getInteger(at: bytes.readerIndex + count - 1, as: UInt8.self)
            : beginning.readableBytesView.last
        return beginning.readableBytes + count - (last == UInt8(ascii: "\r") ? 1 : 0)
    }

    /// Starts to discard a line over the limit.
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
        // Releasing the storage keeps idle connections small and lets the socket reuse its buffer.
        releasedBytes += bytes.storageCapacity
        bytes = later
        later = ByteBuffer()
    }
}
