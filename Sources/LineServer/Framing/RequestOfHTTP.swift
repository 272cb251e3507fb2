import NIOCore
import WireProtocol

/// Detection of HTTP requests on the line port (RFC 9112, sections 3 and 5).
extension ByteBuffer {
    /// True if it ends like the request line of HTTP.
    var isRequestOfHTTP: Bool {
        // For JSON, checking the last byte is enough.
        guard let last = readableBytesView.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) else {
            return false
        }
        let version = readableBytesView.suffix("HTTP/1.1".utf8.count)
        return version.starts(with: "HTTP/".utf8)
    }

    /// True if it begins like a header field, with a name and a colon. JSON never does.
    var isFieldOfHTTP: Bool {
        let rest = readableBytesView.drop { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return rest.first == UInt8(ascii: ":")
    }
}

extension ProtocolError {
    static let http = ProtocolError(
        .parseError,
        "This is HTTP, and this port is for lines of JSON. HTTP has a port of its own, 7433 unless it was set "
            + "otherwise (POSTLINE_HTTP_PORT).")
}
