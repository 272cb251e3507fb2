package import NIOCore

extension JSON {
    /// Writes the value compactly: without blanks, members in order, numbers as written.
    package func write(to buffer: inout ByteBuffer) {
        switch self {
        case .null: buffer.writeStaticString("null")
        case .bool(true): buffer.writeStaticString("true")
        case .bool(false): buffer.writeStaticString("false")
        case .number(let number): buffer.writeString(number.text)
        case .string(let string): buffer.writeJSONString(string)
        case .array(let elements):
            buffer.writeStaticString("[")
            for index in elements.indices {
                if index > 0 { buffer.writeStaticString(",") }
                elements[index].write(to: &buffer)
            }
            buffer.writeStaticString("]")
        case .object(let object):
            object.write(to: &buffer)
        }
    }

    /// The value as compact JSON text.
    package var text: String {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return String(buffer: buffer)
    }
}

extension JSONObject {
    /// Writes the object compactly.
    package func write(to buffer: inout ByteBuffer) {
        buffer.writeStaticString("{")
        for index in members.indices {
            if index > 0 { buffer.writeStaticString(",") }
            members[index].write(to: &buffer)
        }
        buffer.writeStaticString("}")
    }

    /// The object as compact JSON text.
    package var text: String { JSON.object(self).text }
}

extension JSONObject.Member {
    /// Writes `"name":value`.
    package func write(to buffer: inout ByteBuffer) {
        buffer.writeJSONString(name)
        buffer.writeStaticString(":")
        value.write(to: &buffer)
    }
}

extension ByteBuffer {
    /// Writes a quoted JSON string, escaping only what RFC 8259 requires.
    package mutating func writeJSONString(_ string: String) {
        var string = string
        // The pointer does not escape, and bytes have no padding that raw access could expose.
        string.withUTF8 { utf8 in
            let bytes = unsafe utf8.span
            reserveCapacity(minimumWritableBytes: bytes.count + 2)
            writeInteger(UInt8(ascii: "\""))
            var run = 0
            for index in bytes.indices {
                let byte = bytes[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                unsafe writeBytes(bytes.extracting(run..<index).bytes)
                writeJSONEscape(byte)
                run = index + 1
            }
            unsafe writeBytes(bytes.extracting(run..<bytes.count).bytes)
            writeInteger(UInt8(ascii: "\""))
        }
    }

    private mutating func writeJSONEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): writeStaticString("\\\"")
        case UInt8(ascii: "\\"): writeStaticString("\\\\")
        case 0x08: writeStaticString("\\b")
        case 0x0C: writeStaticString("\\f")
        case 0x0A: writeStaticString("\\n")
        case 0x0D: writeStaticString("\\r")
        case 0x09: writeStaticString("\\t")
        default:
            writeStaticString(byte < 0x10 ? "\\u000" : "\\u001")
            let low = byte & 0xF
            writeInteger(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}

extension String {
    /// The quoted JSON string.
    package var jsonQuoted: String {
        var buffer = ByteBuffer()
        buffer.writeJSONString(self)
        return String(buffer: buffer)
    }
}
