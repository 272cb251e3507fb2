package import Messaging
package import NIOCore

extension ByteBuffer {
    /// Writes an answer's envelope around its content: one JSON object, without a line end.
    ///
    /// - Parameter id: the request's, as sent.
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

    /// Writes JSON text such that it cannot end the line: a raw line end in it can only stand between tokens, where a
    /// blank means the same.
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
