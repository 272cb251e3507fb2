import Messaging
import NIOCore

/// How a request of HTTP looks to the port for lines (RFC 9112, sections 3 and 5).
extension ByteBuffer {
    /// Whether it ends as the first line of a request of HTTP does.
    var isRequestOfHTTP: Bool {
        // Of a line that is JSON one look at its last byte is all.
        guard let last = readableBytesView.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) else {
            return false
        }
        let version = readableBytesView.suffix("HTTP/1.1".utf8.count)
        return version.starts(with: "HTTP/".utf8)
    }

    /// Whether it begins as a field of a header does, by a name and a colon: no JSON does.
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
        "This is HTTP, and this port is for lines of JSON. HTTP has a port of its own, 7433 unless it was set otherwise "
            + "(POSTLINE_HTTP_PORT).")
}
