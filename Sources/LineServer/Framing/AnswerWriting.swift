import ChangeFeed
package import Messaging
package import NIOCore
package import WireProtocol

extension ByteBuffer {
    /// Writes a response: one JSON object around the content, without a line end.
    ///
    /// - Parameter id: the request's id, as sent.
    package mutating func writeAnswer(id: JSON, _ content: Answer.Content) {
        switch content {
        case .result(let result):
            reserveCapacity(minimumWritableBytes: result.readableBytes + 64)
            writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
            id.write(to: &self)
            writeStaticString(",\"result\":")
            writeOnOneLine(result)
            writeStaticString("}")
        case .failure(let error):
            writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
            id.write(to: &self)
            writeStaticString(",\"error\":")
            writeError(error)
            writeStaticString("}")
        }
    }

    package mutating func writeError(_ error: ProtocolError) {
        writeStaticString("{\"code\":")
        writeString(String(error.code.number))
        writeStaticString(",\"message\":")
        writeJSONString(error.message)
        writeStaticString(",\"data\":{\"code\":")
        writeJSONString(error.code.rawValue)
        writeStaticString(error.code.isRetryable ? ",\"retryable\":true" : ",\"retryable\":false")
        for member in error.data {
            writeStaticString(",")
            member.write(to: &self)
        }
        writeStaticString("}}")
    }

    /// Writes JSON text without line ends. A raw line end can only stand between tokens, where a blank is equivalent.
    private mutating func writeOnOneLine(_ json: ByteBuffer) {
        let start = writerIndex
        writeImmutableBuffer(json)
        var searched = 0
        while let end = firstLineEnd(in: json.readableBytesSpan, from: searched) {
            setInteger(UInt8(ascii: " "), at: start + end)
            searched = end + 1
        }
    }
}
