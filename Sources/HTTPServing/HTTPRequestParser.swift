import Foundations
import NIOCore
import NIOHTTP1
import WireProtocol

/// A strict incremental parser of HTTP/1.1 requests (RFC 9112).
///
/// It rejects everything outside the grammar, and every request that a proxy could interpret differently. It does no I/O,
/// so it is tested without a network.
struct HTTPRequestParser {
    private enum State {
        case requestLine
        case fields
        case body(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
    }

    private let bounds: HTTPBounds
    private var state = State.requestLine
    private var start: HTTPRequestLine?
    private var fields: [(String, String)] = []

    /// The consumed bytes of the head or the trailers.
    private var headBytes = 0

    /// The consumed bytes of a chunked body including its framing, and its number of chunks.
    private var encodedBytes = 0
    private var chunks = 0

    /// The scanned bytes of an incomplete line, so that a line that arrives byte by byte is scanned once.
    private var scannedBytes = 0

    /// The longest line with a chunk's size and extensions, in bytes. Clients use no extensions in practice.
    private static let maxChunkLineBytes = 1_024

    /// The bytes that a chunked body may have on the wire for each byte of the largest body.
    private static let chunkOverhead = 8

    /// The chunks that a body may have, plus one for each 64 bytes of the largest body. A chunk costs 0.7 µs.
    private static let minChunks = 256

    init(_ bounds: HTTPBounds) { self.bounds = bounds }

    /// True if a request is partly consumed.
    var isWithinRequest: Bool {
        if case .requestLine = state { return false }
        return true
    }

    /// Returns the next part of a request and removes its bytes from the buffer, or nil if more bytes are needed.
    ///
    /// - Throws: `HTTPError` if the request is invalid or too large. The parser cannot be used afterwards.
    mutating func next(from buffer: inout ByteBuffer) throws(HTTPError) -> HTTPServerRequestPart? {
        while true {
            switch state {
            case .requestLine:
                guard let line = try headLine(from: &buffer) else { return nil }
                // RFC 9112, section 2.2: empty lines before a request are ignored.
                guard !line.isEmpty else { continue }
                start = try HTTPRequestLine(line)
                state = .fields
            case .fields:
                guard let line = try headLine(from: &buffer) else { return nil }
                if line.isEmpty { return .head(try finishHead()) }
                fields.append(try field(line))
            case .body(left: 0): return finish()
            case .body(let left):
                guard let bytes = buffer.readUpTo(left) else { return nil }
                state = .body(left: left - bytes.readableBytes)
                return .body(bytes)
            case .chunkSize:
                guard let line = try chunkLine(from: &buffer) else { return nil }
                let size = try Self.chunkSize(line)
                guard size <= bounds.maxBodyBytes else { throw .largeBody(bounds) }
                headBytes = 0
                chunks += 1
                guard chunks <= Self.minChunks + bounds.maxBodyBytes / 64 else {
                    throw HTTPError(.payloadTooLarge, "The body has too many chunks. Send larger ones.")
                }
                state = size == 0 ? .trailers : .chunk(left: size)
            case .chunk(left: 0): state = .chunkEnd
            case .chunk(let left):
                guard let bytes = buffer.readUpTo(left) else { return nil }
                try countEncoded(bytes.readableBytes)
                state = .chunk(left: left - bytes.readableBytes)
                return .body(bytes)
            case .chunkEnd:
                guard let line = try chunkLine(from: &buffer) else { return nil }
                guard line.isEmpty else { throw HTTPError(.badRequest, "A chunk is longer than its stated size.") }
                state = .chunkSize
            case .trailers:
                guard let line = try headLine(from: &buffer) else { return nil }
                if line.isEmpty { return finish() }
                // Trailers are validated, counted and ignored.
                _ = try field(line)
                fields.append(("", ""))
            }
        }
    }

    private mutating func finish() -> HTTPServerRequestPart {
        self = HTTPRequestParser(bounds)
        return .end(nil)
    }
}

/// Parsing of heads.
extension HTTPRequestParser {
    /// Returns the next line of a head, and enforces the head's size.
    private mutating func headLine(from buffer: inout ByteBuffer) throws(HTTPError) -> String? {
        if start == nil, scannedBytes == 0, let byte = buffer.readableBytesView.first {
            // Rejects other protocols at their first byte: JSON begins with a brace, TLS with 22.
            guard byte == .carriageReturn || byte.isTokenCharacter else { throw .notHTTP }
        }
        let before = buffer.readableBytes
        let line = try line(from: &buffer)
        let bytes = line == nil ? before : before - buffer.readableBytes
        guard headBytes + bytes <= bounds.maxHeadBytes else {
            throw HTTPError(
                .requestHeaderFieldsTooLarge, "A request's head may have at most \(bounds.maxHeadBytes) bytes.")
        }
        if line != nil { headBytes += bytes }
        return line
    }

    /// Returns the next line without its CRLF. Rejects control characters other than tabs, and long runs of combining
    /// characters.
    private mutating func line(from buffer: inout ByteBuffer) throws(HTTPError) -> String? {
        guard let length = try lineLength(in: buffer) else { return nil }
        scannedBytes = 0
        let line = buffer.readString(length: length)
        buffer.moveReaderIndex(forwardBy: 2)
        if line?.hasLongCombiningRun == true {
            throw HTTPError(
                .badRequest, "A line of a request's head may have at most 128 combining characters in a row.")
        }
        return line
    }

    private mutating func lineLength(in buffer: ByteBuffer) throws(HTTPError) -> Int? {
        let bytes = buffer.readableBytesUInt8Span
        var hasReturn = scannedBytes > 0 && bytes[scannedBytes - 1] == .carriageReturn
        while scannedBytes < bytes.count {
            let byte = bytes[scannedBytes]
            guard hasReturn == (byte == .lineFeed) else {
                throw start == nil ? .notHTTP : HTTPError(.badRequest, "Lines must end with CRLF.")
            }
            if hasReturn { return scannedBytes - 1 }
            hasReturn = byte == .carriageReturn
            guard byte >= 0x20 && byte != 0x7F || hasReturn || byte == .tab else {
                throw start == nil
                    ? .notHTTP : HTTPError(.badRequest, "A request's head must not have control characters.")
            }
            scannedBytes += 1
        }
        return nil
    }

    /// Returns a field's name and value, without white space around the value (RFC 9112, section 5).
    private func field(_ line: String) throws(HTTPError) -> (String, String) {
        guard fields.count < bounds.maxHeadFields else {
            throw HTTPError(
                .requestHeaderFieldsTooLarge, "A request's head may have at most \(bounds.maxHeadFields) fields.")
        }
        let parts = line.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenCharacter) else {
            throw HTTPError(
                .badRequest,
                "A header field must be a name, a colon and a value on one line, without space before the name or the colon."
            )
        }
        return (String(Substring(parts[0])), String(Substring(parts[1].trimmingWhitespace)))
    }

    /// Returns the head after its last line.
    private mutating func finishHead() throws(HTTPError) -> HTTPRequestHead {
        guard let start else { throw .notHTTP }
        let headers = HTTPHeaders(fields)
        try HTTPAuthority.validateHost(headers, start.version)
        state = try Self.framing(headers, start.version)
        fields = []
        return HTTPRequestHead(version: start.version, method: start.method, uri: start.target, headers: headers)
    }
}

/// Parsing of bodies.
extension HTTPRequestParser {
    /// Returns the state in which the body begins, by the way it is delimited (RFC 9112, section 6.3).
    private static func framing(_ headers: HTTPHeaders, _ version: HTTPVersion) throws(HTTPError) -> State {
        let (codings, lengths) = (headers["Transfer-Encoding"], headers["Content-Length"])
        guard codings.isEmpty || lengths.isEmpty else {
            throw HTTPError(.badRequest, "A request may have a Content-Length or a Transfer-Encoding, not both.")
        }
        guard codings.isEmpty else {
            guard version == .http1_1 else {
                throw HTTPError(.badRequest, "HTTP/1.0 has no Transfer-Encoding.")
            }
            if codings.count == 1, codings[0].lowercasedASCII == "chunked" { return .chunkSize }
            let names = codings.joined(separator: ",").utf8.split(
                separator: UInt8(ascii: ","), omittingEmptySubsequences: false
            ).map { Substring($0.trimmingWhitespace).lowercasedASCII }
            guard names.last == "chunked", !names.contains("") else {
                throw HTTPError(.badRequest, "The last Transfer-Encoding of a request must be chunked.")
            }
            throw HTTPError(.notImplemented, "The only supported Transfer-Encoding is chunked, once.")
        }
        guard lengths.count <= 1 else { throw HTTPError(.badRequest, "A request may have only one Content-Length.") }
        guard let text = lengths.first else { return .body(left: 0) }
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let length = Int(text) else {
            throw HTTPError(.badRequest, "Content-Length must be a number of bytes.")
        }
        return .body(left: length)
    }

    /// Returns the next line of a chunked body's framing, and enforces its bounds.
    private mutating func chunkLine(from buffer: inout ByteBuffer) throws(HTTPError) -> String? {
        let before = buffer.readableBytes
        let line = try line(from: &buffer)
        let bytes = line == nil ? before : before - buffer.readableBytes
        guard bytes <= Self.maxChunkLineBytes else {
            throw HTTPError(
                .payloadTooLarge, "A chunk's size and extensions may have at most \(Self.maxChunkLineBytes) bytes.")
        }
        if line != nil { try countEncoded(bytes) }
        return line
    }

    private mutating func countEncoded(_ bytes: Int) throws(HTTPError) {
        encodedBytes += bytes
        guard encodedBytes <= Self.chunkOverhead * bounds.maxBodyBytes else { throw .largeBody(bounds) }
    }

    /// Parses the size in a chunk's first line (RFC 9112, section 7.1), ignoring extensions.
    private static func chunkSize(_ line: String) throws(HTTPError) -> Int {
        let digits = line.utf8.prefix(while: \.isHexDigit)
        let rest = line.utf8[digits.endIndex...].trimmingWhitespace
        guard !digits.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ";"),
            // White space is allowed only before an extension.
            rest.isEmpty == (digits.endIndex == line.utf8.endIndex), let size = Int(Substring(digits), radix: 16)
        else { throw HTTPError(.badRequest, "A chunk must begin with its size in hexadecimal digits.") }
        return size
    }
}

/// The first line of a request (RFC 9112, section 3).
private struct HTTPRequestLine {
    let method: HTTPMethod
    let target: String
    let version: HTTPVersion

    init(_ line: String) throws(HTTPError) {
        let parts = line.utf8.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
            .map(Substring.init)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isTokenCharacter),
            !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .notHTTP }
        method = HTTPMethod(rawValue: String(parts[0]))
        target = String(parts[1])
        version = try Self.version(String(parts[2]))
        if case .RAW = method { throw HTTPError(.badRequest, "Unknown HTTP method.") }
    }

    /// Parses `HTTP/x.y`. A higher minor version counts as 1.1 (RFC 9110, section 2.5).
    private static func version(_ text: String) throws(HTTPError) -> HTTPVersion {
        let digits = Array(text.utf8.dropFirst(5))
        guard text.hasPrefix("HTTP/"), digits.count == 3, digits[0].isDigit, digits[1] == UInt8(ascii: "."),
            digits[2].isDigit, digits[0] != UInt8(ascii: "0")
        else { throw .notHTTP }
        guard digits[0] == UInt8(ascii: "1") else {
            throw HTTPError(.httpVersionNotSupported, "The server supports HTTP/1.1 only.")
        }
        return digits[2] == UInt8(ascii: "0") ? .http1_0 : .http1_1
    }
}

extension HTTPError {
    fileprivate static let notHTTP = HTTPError(
        .badRequest, "This is not an HTTP request. The line protocol has its own port.")

    static func largeBody(_ bounds: HTTPBounds) -> HTTPError {
        HTTPError(.payloadTooLarge, "A request's body may have at most \(bounds.maxBodyBytes) bytes.")
    }
}

extension ByteBuffer {
    /// Reads at most `count` bytes, or returns nil if the buffer is empty.
    fileprivate mutating func readUpTo(_ count: Int) -> ByteBuffer? {
        readableBytes == 0 ? nil : readSlice(length: min(count, readableBytes))
    }
}

extension UInt8 {
    fileprivate static let tab = UInt8(ascii: "\t")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")

    package var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    var isHexDigit: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
    }

    /// True if a token may contain this byte (RFC 9110, section 5.6.2).
    var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: isDigit || isLetter
        }
    }
}

extension Substring.UTF8View {
    /// The text without surrounding spaces and tabs.
    var trimmingWhitespace: Substring.UTF8View {
        let isWhitespace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == .tab }
        var rest = drop(while: isWhitespace)
        while let last = rest.last, isWhitespace(last) { rest.removeLast() }
        return rest
    }
}
