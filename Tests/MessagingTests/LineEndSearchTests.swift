import NIOCore
import Testing
import WireProtocol

@Test("finds the first line feed at every offset")
func lineEndSearch() {
    let others = ByteBuffer(bytes: (0...255).filter { $0 != 0x0A }.map { UInt8($0) })
    for start in 0...others.readableBytes { #expect(firstLineEnd(in: others.readableBytesSpan, from: start) == nil) }
    for place in 0..<60 {
        var bytes = ByteBuffer(repeating: 0x0B, count: place)
        bytes.writeInteger(UInt8(0x0A))
        bytes.writeRepeatingByte(0x0A, count: 3)
        bytes.writeRepeatingByte(0x8A, count: 20)
        for start in 0...place { #expect(firstLineEnd(in: bytes.readableBytesSpan, from: start) == place) }
        #expect(firstLineEnd(in: bytes.readableBytesSpan, from: place + 4) == nil)
    }
}
