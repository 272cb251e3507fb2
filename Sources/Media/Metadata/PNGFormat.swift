import NIOCore

/// PNG (W3C, third edition, section 5): chunks of a length, a type, data and a checksum.
///
/// Kept are the chunks that a decoder needs for the image, its colours and its animation. The chunk `eXIf` becomes its
/// orientation. Others, such as texts, times and XMP, become `noNe`, which no program knows, with zeros.
struct PNGFormat: PictureFormat {
    private enum State {
        case start, chunk
        /// A chunk `eXIf` with the beginning of its data, and the number of bytes that follow.
        case exif(length: Int, rest: Int)
        /// The checksum of a changed chunk, with its bytes before the zeros.
        case checksum(first: [UInt8], zeros: Int)
    }

    private static let kept: Set<String> = [
        "IHDR", "PLTE", "IDAT", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "hIST",
        "pHYs", "sPLT", "acTL", "fcTL", "fdAT",
    ]

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The type of an erased chunk: its letters' cases say optional, private, and safe to copy.
    private static let erased = Array("noNe".utf8)

    private var state = State.start
    private var hasOrientation = false

    let firstSteps = [MetadataStep.read(8)]

    mutating func parse(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep] {
        switch state {
        case .start:
            guard bytes == Self.signature else { throw PictureDamage("it does not begin as PNG") }
            output.writeBytes(bytes)
            state = .chunk
            return [.read(8)]
        case .chunk:
            return try chunk(bytes, into: &output)
        case .exif(let length, let rest):
            return exif(bytes, length: length, rest: rest, into: &output)
        case .checksum(let first, let zeros):
            output.writeInteger(Self.checksum(of: first, zeros: zeros))
            state = .chunk
            return [.read(8)]
        }
    }

    private mutating func chunk(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep]
    {
        guard let length = bytes.bigEndian(at: 0, bytes: 4), length <= Int(Int32.max), let type = bytes.code(at: 4),
            type.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) })
        else { throw PictureDamage("a PNG chunk has an impossible length or type") }
        switch type {
        case "IEND":
            output.writeBytes(bytes)
            // What follows the end is erased.
            return [.keep(length + 4)]
        case "eXIf" where !hasOrientation && length >= EXIFOrientation.size:
            // The type depends on the data.
            let count = min(length, Self.maxRead)
            state = .exif(length: length, rest: length - count)
            return [.extend(count)]
        case _ where Self.kept.contains(type):
            output.writeBytes(bytes)
            return [.keep(length + 4), .read(8)]
        default:
            output.writeBytes(bytes.prefix(4) + Self.erased)
            state = .checksum(first: Self.erased, zeros: length)
            return [.erase(length), .read(4)]
        }
    }

    private mutating func exif(
        _ bytes: [UInt8], length: Int, rest: Int, into output: inout ByteBuffer
    ) -> [MetadataStep] {
        var first = Self.erased
        if let orientation = EXIFOrientation.find(in: Array(bytes.dropFirst(8))) {
            first = Array("eXIf".utf8) + EXIFOrientation.tiff(orientation)
            hasOrientation = true
        }
        let zeros = length + 4 - first.count
        output.writeBytes(bytes.prefix(4) + first)
        output.writeRepeatingByte(0, count: zeros - rest)
        state = .checksum(first: first, zeros: zeros)
        return [.erase(rest), .read(4)]
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        var sum = UInt32(byte)
        for _ in 0..<8 {
            let half = sum >> 1
            sum = sum.isMultiple(of: 2) ? half : half ^ 0xEDB8_8320
        }
        return sum
    }

    /// Returns the CRC-32 of bytes that zeros follow. It is computed once the zeros have arrived.
    static func checksum(of bytes: [UInt8], zeros: Int) -> UInt32 {
        var sum = UInt32.max
        func add(_ byte: UInt8) {
            let index = UInt8(truncatingIfNeeded: sum) ^ byte
            sum = table[Int(index)] ^ (sum >> 8)
        }
        for byte in bytes { add(byte) }
        for _ in 0..<zeros { add(0) }
        return ~sum
    }
}
