import Crypto
import FoundationEssentials
import Foundations

/// Signs addresses of an S3-compatible store (AWS Signature Version 4, "Authenticating Requests: Using Query
/// Parameters").
struct S3Signature: Sendable {
    let region: String
    let accessKeyID: String
    let secretAccessKey: String

    /// Returns a signed address.
    ///
    /// - Parameters:
    ///   - host: the host, with the port unless it is the scheme's default.
    ///   - path: the decoded path, from the first slash.
    ///   - headers: headers that the request must send unchanged.
    ///   - query: further fields of the query.
    ///   - seconds: the validity, at most a week.
    func url(
        _ method: String, scheme: String = "https", host: String, path: String,
        headers: [(name: String, value: String)] = [], query fields: [(name: String, value: String)] = [],
        seconds: Int, at now: Date = Date()
    ) -> String {
        let time = now.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/s3/aws4_request"
        let signed = (headers.map { ($0.name.lowercased(), $0.value) } + [("host", host)]).sorted { $0.0 < $1.0 }
        let names = signed.map(\.0).joined(separator: ";")
        let signedFields = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(accessKeyID)/\(scope)"),
            ("X-Amz-Date", time), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", names),
        ]
        let query = (signedFields + fields.map { ($0.name, $0.value) }).map { ($0.0, $0.1.percentEncoded()) }
            .sorted { Array($0.0.utf8).lexicographicallyPrecedes(Array($1.0.utf8)) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let path = path.percentEncoded(keepingSlashes: true)
        let request = [
            method, path, query, signed.map { "\($0.0):\($0.1)\n" }.joined(), names, "UNSIGNED-PAYLOAD",
        ].joined(separator: "\n")
        let text = [
            "AWS4-HMAC-SHA256", time, scope, SHA256.hash(data: Array(request.utf8)).hexadecimal,
        ].joined(separator: "\n")
        var key = Array("AWS4\(secretAccessKey)".utf8)
        for part in [day, region, "s3", "aws4_request"] { key = Self.code(part, key) }
        let signature = Self.code(text, key).hexadecimal
        return "\(scheme)://\(host)\(path)?\(query)&X-Amz-Signature=\(signature)"
    }

    private static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }
}

extension String {
    /// Percent-encodes all but RFC 3986's unreserved characters.
    func percentEncoded(keepingSlashes: Bool = false) -> String {
        var encoded = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(UnicodeScalar(byte))
            case UInt8(ascii: "/") where keepingSlashes: encoded += "/"
            default: encoded += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return encoded
    }
}
