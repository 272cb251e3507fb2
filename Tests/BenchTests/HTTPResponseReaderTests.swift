import NIOCore
import Testing

@testable import postline_bench

@Suite("HTTP response reader")
struct HTTPResponseReaderTests {
    private static let text =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCONTENT-length:  12\r\n\r\n{\"id\":\"1\\n\"}"
        + "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    @Test("reads responses split at any size", arguments: [1, 2, 7, 64, 1_000])
    func pieces(size: Int) throws {
        var reader = HTTPResponseReader()
        var found: [String] = []
        var rest = ByteBuffer(string: Self.text)
        while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
            reader.append(piece)
            while let answer = try reader.next() { found.append("\(answer.status) \(String(buffer: answer.body))") }
        }
        #expect(found == [#"200 {"id":"1\n"}"#, "404 "])
    }

    @Test("rejects a response without a length or a status", arguments: ["HTTP/1.1 200 OK\r\n\r\n", "SMTP\r\n"])
    func refused(text: String) {
        var reader = HTTPResponseReader()
        reader.append(ByteBuffer(string: text))
        #expect(throws: BenchError.self) { try reader.next() }
    }
}
