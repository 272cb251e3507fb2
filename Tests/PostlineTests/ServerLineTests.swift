import NIOCore
import Testing

@testable import LineClient

@Suite("Server line")
struct ServerLineTests {
    private func serverLine(_ line: String) -> ServerLine { ServerLine(ByteBuffer(string: line)) }

    private func text(_ bytes: ByteBuffer?) -> String? { bytes.map { String(buffer: $0) } }

    @Test("finds a response by its number, with the result's bytes")
    func answer() {
        let answer = serverLine(#"{"jsonrpc":"2.0","id":17,"result":{"a":"}\"]","b":[1,{"c":null}]}}"#)
        guard case .answer(17) = answer.kind else {
            Issue.record("not a response")
            return
        }
        #expect(text(answer.result) == #"{"a":"}\"]","b":[1,{"c":null}]}"#)
        #expect(answer.error == nil)
    }

    @Test("accepts members in any order and with blanks")
    func order() {
        let answer = serverLine(#" { "error" : {"code":-32700} , "id" : 3 , "jsonrpc" : "2.0" } "#)
        guard case .answer(3) = answer.kind else {
            Issue.record("not a response")
            return
        }
        #expect(text(answer.error) == #"{"code":-32700}"#)
    }

    @Test("accepts results of any type")
    func scalars() {
        for value in ["1", "null", "true", "-1.5e3", #""x""#, "[]", "{}"] {
            #expect(text(serverLine(#"{"jsonrpc":"2.0","id":1,"result":\#(value)}"#).result) == value)
            #expect(text(serverLine(#"{"result":\#(value),"id":1}"#).result) == value)
        }
    }

    @Test("finds the end of a string with escapes at any offset")
    func strings() {
        for length in 0..<20 {
            for offset in 0...length {
                for escaped in [#"\""#, #"\\"#, #"\u00e9"#, "", "}", "é"] {
                    let plain = String(repeating: "a", count: length)
                    let value = #""\#(plain.prefix(offset))\#(escaped)\#(plain.dropFirst(offset))""#
                    #expect(text(serverLine(#"{"result":\#(value),"id":1}"#).result) == value)
                }
            }
        }
    }

    @Test("a notification has a method and no id")
    func notification() {
        let push = serverLine(#"{"jsonrpc":"2.0","method":"changes","params":{"cursor":"x"}}"#)
        guard case .notification("changes") = push.kind else {
            Issue.record("not a notification")
            return
        }
        #expect(text(push.params) == #"{"cursor":"x"}"#)
    }

    @Test(
        "an incomplete line is other, and not read beyond its end",
        arguments: [
            "", "x", "{", "[]", #"[{"id":1,"result":1}]"#, #"{"id":null,"error":{}}"#, #"{"id":"a","result":1}"#,
            #"{"id":1,"result":{"a":1}"#, #"{"id":1,"result":"unended}"#, #"{"id":1,"result":"x\"#, #"{"id"}"#,
            #"{"id":99999999999999999999,"result":1}"#, #"{"a":1,}"#,
        ])
    func other(line: String) {
        guard case .other = serverLine(line).kind else {
            Issue.record("\(line) is not other")
            return
        }
    }

    @Test("a random id is a UUID of version 4 in lower case")
    func uuid() {
        let id = randomUUID()
        #expect(id.count == 36 && id == id.lowercased())
        #expect(id.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(id.dropFirst(14).first == "4")
        #expect(id != randomUUID())
    }
}
