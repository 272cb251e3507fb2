import CZlib
import Foundations
import NIOCore
package import NIOHTTP1
import Synchronization

/// A content coding for responses (RFC 9110, section 8.4.1).
package enum ContentCoding: String {
    case gzip
    case deflate

    /// The smallest content that is compressed, in bytes.
    static let minBytes = 1_025

    /// Chooses the coding that the client prefers, gzip if it has no preference. Returns nil if the client accepts neither
    /// (RFC 9110, section 12.5.3).
    package init?(acceptedBy headers: HTTPHeaders) {
        var weights: [Substring: Double] = [:]
        for element in headers[canonicalForm: "Accept-Encoding"] {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercasedASCII }
            guard let name = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            weights[name.hasPrefix("x-") ? name.dropFirst(2) : name[...]] = weight
        }
        let other = weights["*"] ?? 0
        let (gzip, deflate) = (weights["gzip"] ?? other, weights["deflate"] ?? other)
        guard max(gzip, deflate) > 0 else { return nil }
        self = gzip >= deflate ? .gzip : .deflate
    }

    /// The `windowBits` argument that selects this format in zlib.
    fileprivate var windowBits: Int32 {
        switch self {
        case .gzip: MAX_WBITS + 16
        case .deflate: MAX_WBITS
        }
    }
}

extension HTTPResponse {
    /// Returns the response with its body compressed, or unchanged if the coding is nil. Other responses are compressed
    /// as they are sent; this is for one that is sent often.
    package func compressed(by coding: ContentCoding?) -> HTTPResponse {
        guard let coding, let compression = Compression(coding) else { return self }
        var response = self
        response.body = compression.compress(body, isLast: true)
        response.headers.replaceOrAdd(name: "Content-Encoding", value: coding.rawValue)
        return response
    }
}

/// Compresses the content of one response piece by piece, in order, on any thread.
final class Compression: Sendable {
    private let stream: Mutex<DeflateStream>

    init?(_ coding: ContentCoding) {
        guard let stream = DeflateStream(coding) else { return nil }
        self.stream = Mutex(stream)
    }

    /// Compresses the next piece, and returns the compressed bytes that are available, which may be none. The last piece
    /// returns all remaining bytes.
    func compress(_ piece: ByteBuffer, isLast: Bool) -> ByteBuffer {
        stream.withLock { $0.compress(piece, isLast: isLast) }
    }
}

/// The owner of a zlib stream.
@safe private struct DeflateStream: ~Copyable, Sendable {
    /// The stream, at a fixed address, since zlib keeps a pointer to it.
    private nonisolated(unsafe) let stream: UnsafeMutablePointer<z_stream>

    init?(_ coding: ContentCoding) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // Level 1 is the fastest.
        guard unsafe postline_deflate_init(stream, 1, coding.windowBits) == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
        unsafe self.stream = stream
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    mutating func compress(_ piece: ByteBuffer, isLast: Bool) -> ByteBuffer {
        var output = ByteBuffer()
        var piece = piece
        unsafe piece.withUnsafeMutableReadableBytes { input in
            unsafe stream.pointee.next_in = unsafe input.bindMemory(to: UInt8.self).baseAddress
            unsafe stream.pointee.avail_in = UInt32(input.count)
            repeat {
                unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: 1 << 15) { target in
                    unsafe stream.pointee.next_out = unsafe target.bindMemory(to: UInt8.self).baseAddress
                    unsafe stream.pointee.avail_out = UInt32(target.count)
                    unsafe deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    return unsafe target.count - Int(stream.pointee.avail_out)
                }
            } while unsafe stream.pointee.avail_out == 0
        }
        return output
    }
}
