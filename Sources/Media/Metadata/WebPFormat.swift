import NIOCore

/// WebP (RFC 9649): a RIFF file of chunks.
///
/// Kept are the chunks of the image, its animation and its colours. The chunk `EXIF` keeps its orientation only. Others,
/// such as XMP, become `JUNK`, which RIFF has for padding, with zeros.
struct WebPFormat: PictureFormat {
    private enum State {
        case start, chunk
        /// The header of an extended file, with the number of bytes that follow.
        case features(rest: Int)
        /// The data of a chunk `EXIF`, with the number of bytes that follow.
        case exif(rest: Int)
    }

    private static let kept: Set<String> = ["VP8 ", "VP8L", "ALPH", "ANIM", "ANMF", "ICCP"]

    /// The flag of an extended file that has XMP.
    private static let xmpFlag: UInt8 = 0x04

    private var state = State.start

    /// The bytes until the end that the file's header names.
    private var remaining = 0

    let firstSteps = [MetadataStep.read(12)]

    mutating func parse(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep] {
        switch state {
        case .start:
            guard bytes.code(at: 0) == "RIFF", bytes.code(at: 8) == "WEBP",
                let size = bytes.littleEndian(at: 4, bytes: 4), size >= 4
            else { throw PictureDamage("it does not begin as WebP") }
            output.writeBytes(bytes)
            remaining = size - 4
            return nextChunk()
        case .chunk:
            return try chunk(bytes, into: &output)
        case .features(let rest):
            output.writeInteger(bytes[0] & ~Self.xmpFlag)
            output.writeBytes(bytes.dropFirst())
            return [.keep(rest)] + nextChunk()
        case .exif(let rest):
            let kept = EXIFOrientation.tiff(Self.orientation(in: bytes) ?? 1)
            output.writeBytes(kept)
            output.writeRepeatingByte(0, count: bytes.count - kept.count)
            return [.erase(rest)] + nextChunk()
        }
    }

    private mutating func nextChunk() -> [MetadataStep] {
        state = .chunk
        return remaining >= 8 ? [.read(8)] : []
    }

    private mutating func chunk(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep]
    {
        guard let type = bytes.code(at: 0), let size = bytes.littleEndian(at: 4, bytes: 4) else { return [] }
        // A chunk of an odd size has another byte.
        let count = size + size % 2
        guard count <= remaining - 8 else { throw PictureDamage("a WebP chunk is longer than the file") }
        remaining -= 8 + count
        switch type {
        case "VP8X" where size >= 10:
            output.writeBytes(bytes)
            state = .features(rest: count - 10)
            return [.read(10)]
        case "EXIF" where size >= EXIFOrientation.size:
            output.writeBytes(bytes)
            let first = min(size, Self.maxRead)
            state = .exif(rest: count - first)
            return [.read(first)]
        case _ where Self.kept.contains(type):
            output.writeBytes(bytes)
            return [.keep(count)] + nextChunk()
        default:
            output.writeBytes(Array("JUNK".utf8) + bytes.dropFirst(4))
            return [.erase(count)] + nextChunk()
        }
    }

    /// Some programs write the header of JPEG before the TIFF file.
    private static func orientation(in data: [UInt8]) -> UInt8? {
        EXIFOrientation.find(in: data.starts(with: "Exif\0\0".utf8) ? Array(data.dropFirst(6)) : data)
    }
}
