/// A random UUID (version 4) in lower case, as the protocol writes ids: what a client gives a message as its `client_id`.
public func randomUUID() -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    var text = ""
    for (index, byte) in bytes.enumerated() {
        if [4, 6, 8, 10].contains(index) { text += "-" }
        text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
}
