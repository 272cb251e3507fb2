import Messaging
import NIOCore

extension ByteBuffer {
    /// Writes an answer's envelope around its content: one JSON object, without a line end.
    ///
    /// - Parameter id: the request's, as sent.
    mutating func writeAnswer(id: JSON, _ content: Answer.Content) {
        switch content {
        case .result(let result):
            self.reserveCapacity(minimumWritableBytes: result.readableBytes + 64)
            self.writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
            id.write(to: &self)
            self.writeStaticString(",\"result\":")
            self.writeOnOneLine(result)
            self.writeStaticString("}")
        case .failure(let error):
            self.writeStaticString("{\"jsonrpc\":\"2.0\",\"id\":")
            id.write(to: &self)
            self.writeStaticString(",\"error\":")
            self.writeError(error)
            self.writeStaticString("}")
        }
    }

    private mutating func writeError(_ error: ProtocolError) {
        self.writeStaticString("{\"code\":")
        self.writeString(String(error.code.number))
        self.writeStaticString(",\"message\":")
        self.writeJSONString(error.message)
        self.writeStaticString(",\"data\":{\"code\":")
        self.writeJSONString(error.code.rawValue)
        self.writeStaticString(error.code.isRetryable ? ",\"retryable\":true" : ",\"retryable\":false")
        for member in error.data {
            self.writeStaticString(",")
            member.write(to: &self)
        }
        self.writeStaticString("}}")
    }

    /// Writes JSON text such that it cannot end the line: a raw line end in it can only stand between tokens, where a
    /// blank means the same.
    private mutating func writeOnOneLine(_ json: ByteBuffer) {
        let start = self.writerIndex
        self.writeImmutableBuffer(json)
        var searched = 0
        while let end = firstLineEnd(in: json.readableBytesSpan, from: searched) {
            self.setInteger(UInt8(ascii: " "), at: start + end)
            searched = end + 1
        }
    }
}
