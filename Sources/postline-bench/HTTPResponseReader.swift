import NIOCore

/// Parses HTTP/1.1 responses in pieces of any size. It requires `Content-Length`, which responses of methods always
/// have.
struct HTTPResponseReader {
    struct Answer {
        let status: Int
        let body: ByteBuffer
    }

    private var received = ByteBuffer()

    mutating func append(_ piece: ByteBuffer) {
        if received.readableBytes == 0 { received = piece } else { received.writeImmutableBuffer(piece) }
    }

    /// Returns the next complete response, or nil if more bytes are needed.
    ///
    /// - Throws: `BenchError` if the bytes are no such response.
    mutating func next() throws(BenchError) -> Answer? {
        let view = received.readableBytesView
        var status: Int?
        var length: Int?
        var start = view.startIndex
        while let end = view[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = view[start..<end]
            start = end + 1
            if status == nil {
                // HTTP/1.1 200 OK
                status = Self.number(line.dropFirst(9).prefix(3))
                guard status != nil else { throw BenchError("An answer has no status.") }
            } else if line.count <= 1 {
                guard let status, let length else { throw BenchError("An answer has no Content-Length.") }
                guard view.endIndex - start >= length else { return nil }
                received.moveReaderIndex(to: start)
                let body = received.readSlice(length: length) ?? ByteBuffer()
                return Answer(status: status, body: body)
            } else if Self.isContentLength(line) {
                length = Self.number(line.dropFirst(Self.contentLength.count).filter { $0 > UInt8(ascii: " ") })
            }
        }
        return nil
    }

    private static let contentLength = Array("content-length:".utf8)

    private static func isContentLength(_ line: ByteBufferView) -> Bool {
        // This bit makes a letter lower case; a hyphen and a colon have it set.
        line.count > contentLength.count && zip(line, contentLength).allSatisfy { $0 | 0x20 == $1 }
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int? {
        Int(String(decoding: digits, as: UTF8.self))
    }
}
