import NIOCore
import NIOHTTP1

extension HTTPRequestHead {
    /// Whether the parser takes what follows for something else than HTTP: it reads no further request then.
    var endsHTTP: Bool {
        method == .CONNECT
            || headers.contains(name: "Upgrade")
                && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
    }

    /// What of it could be read in two ways, by this server and by a proxy before it (RFC 9112, sections 3.2 and 6.3).
    var flaw: String? {
        let hosts = headers["Host"].count
        if hosts > 1 || hosts == 0 && version != .http1_0 { return "A request names one Host." }
        let lengths = headers["Content-Length"]
        if lengths.count > 1 { return "A request has one Content-Length." }
        if !lengths.isEmpty, headers.contains(name: "Transfer-Encoding") {
            return "A request has a Content-Length or a Transfer-Encoding, not both."
        }
        return nil
    }
}
