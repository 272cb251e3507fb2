import Foundations
import NIOCore

/// Erases the metadata of a picture that arrives in parts: EXIF, XMP, IPTC, comments, previews, and what follows the
/// picture's end.
///
/// Zeros replace what is erased, so the picture keeps its announced size, and each part can be written before the next
/// one arrives. The orientation stays, alone in an EXIF block. Only known parts of a format are kept. A GIF, which
/// cameras do not write, is not examined.
///
/// A length in the file only says how many of the following bytes are kept, erased or collected. At most
/// `PictureFormat.maxRead` bytes are collected. The number of parsed parts is bounded too, since each costs as much time
/// as hundreds of bytes that are only copied.
struct MetadataEraser: Sendable {
    /// True once something was erased or changed.
    private(set) var hasErased = false

    /// Nil for a type that is not examined.
    private var format: (any PictureFormat)?

    /// True if the type is examined.
    var isExamining: Bool { format != nil }

    /// The next steps, the first one last.
    private var steps: [MetadataStep]

    /// The bytes that a step has collected.
    private var collected: [UInt8] = []

    private var received = 0
    private var parsedParts = 0

    /// The number of parts, such as segments and chunks, that a picture may have beyond one per 256 bytes.
    static let minParts = 1_000

    init(_ type: MediaType) {
        format =
            switch type {
            case .jpeg: JPEGFormat()
            case .png: PNGFormat()
            case .webp: WebPFormat()
            case .heic: HEICFormat()
            case .gif, .mp4, .quickTime, .webm, .webmAudio, .mp4Audio, .mp3, .ogg, .wav, .pdf, .text, .zip, .binary:
                nil
            }
        steps = format.map { $0.firstSteps.reversed() } ?? [.keep(.max)]
    }

    /// Appends the next bytes to the output, without metadata. Some may be held back until the next call.
    ///
    /// - Throws: `PictureDamage` if the picture is malformed.
    mutating func erase(_ bytes: ByteBufferView, into output: inout ByteBuffer) throws(PictureDamage) {
        var rest = bytes
        received += bytes.count
        while true {
            // An empty part needs no bytes.
            guard let step = steps.popLast() else { return zero(rest, in: &output) }
            switch step {
            case .keep(let count):
                let part = rest.prefix(count)
                output.writeBytes(part)
                rest = rest.dropFirst(part.count)
                if part.count < count { return steps.append(.keep(count - part.count)) }
            case .erase(let count):
                let part = rest.prefix(count)
                zero(part, in: &output)
                rest = rest.dropFirst(part.count)
                if part.count < count { return steps.append(.erase(count - part.count)) }
            case .read(let count):
                let part = rest.prefix(count - collected.count)
                collected += part
                rest = rest.dropFirst(part.count)
                guard collected.count == count else { return steps.append(step) }
                try parse(into: &output)
            case .extend:
                // The parser's result replaces it by a step that reads.
                continue
            case .findMarker(let keepsData):
                guard try findMarker(in: &rest, keepsData: keepsData, &output) else { return steps.append(step) }
                try parse(into: &output)
            }
        }
    }

    /// Appends what was held back of a picture that has ended. Zeros replace an incomplete part.
    mutating func finish(into output: inout ByteBuffer) {
        output.writeRepeatingByte(0, count: collected.count)
        if collected.contains(where: { $0 != 0 }) { hasErased = true }
        (collected, steps) = ([], [])
    }

    /// Lets the format parse the collected bytes, and continues with its steps.
    private mutating func parse(into output: inout ByteBuffer) throws(PictureDamage) {
        try countPart()
        let start = output.writerIndex
        guard let next = try format?.parse(collected, into: &output) else { return }
        if case .extend(let count)? = next.first { return steps.append(.read(collected.count + count)) }
        if !output.readableBytesView[start...].elementsEqual(collected) { hasErased = true }
        collected = []
        steps += next.reversed()
    }

    private mutating func zero(_ bytes: some Collection<UInt8>, in output: inout ByteBuffer) {
        if !hasErased { hasErased = bytes.contains { $0 != 0 } }
        output.writeRepeatingByte(0, count: bytes.count)
    }

    private mutating func countPart() throws(PictureDamage) {
        parsedParts += 1
        guard parsedParts <= Self.minParts + received / 256 else { throw PictureDamage("it has too many parts") }
    }

    /// Collects the next marker of a JPEG file: 0xFF and a code. Keeps or erases the bytes before. Returns false if the
    /// bytes end before the marker.
    private mutating func findMarker(
        in rest: inout ByteBufferView, keepsData: Bool, _ output: inout ByteBuffer
    ) throws(PictureDamage) -> Bool {
        while !rest.isEmpty {
            if collected.isEmpty {
                let data = rest[..<Self.endOfData(rest, keepsData)]
                if keepsData { output.writeBytes(data) } else { zero(data, in: &output) }
                rest = rest[data.endIndex...]
                guard !rest.isEmpty else { return false }
                // Not for data whose pieces happen to end in 0xFF.
                if rest.count > 1 { try countPart() }
                rest = rest.dropFirst()
                collected = [0xFF]
            }
            // Any number of them may precede the code.
            let fill = rest.prefix { $0 == 0xFF }
            output.writeBytes(fill)
            rest = rest[fill.endIndex...]
            guard let code = rest.popFirst() else { return false }
            collected.append(code)
            guard Self.isData(code, keepsData) else { return true }
            if keepsData { output.writeBytes(collected) } else { zero(collected, in: &output) }
            collected = []
        }
        return false
    }

    /// Returns the index of the next 0xFF that may begin a marker, or the end.
    private static func endOfData(_ bytes: ByteBufferView, _ keepsData: Bool) -> ByteBufferView.Index {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] != 0xFF {
                index = bytes[index...].firstIndex(of: 0xFF) ?? bytes.endIndex
            } else if index + 1 < bytes.endIndex, isData(bytes[index + 1], keepsData) {
                index += 2
            } else {
                break
            }
        }
        return index
    }

    /// Returns whether a code after 0xFF makes the two a byte of data, or a restart among them.
    private static func isData(_ code: UInt8, _ keepsData: Bool) -> Bool {
        code == 0 || keepsData && (0xD0...0xD7).contains(code)
    }
}

/// A step through a picture's file.
enum MetadataStep: Sendable, Equatable {
    /// Keeps the next bytes.
    case keep(Int)
    /// Replaces the next bytes by zeros.
    case erase(Int)
    /// Collects the next bytes and parses them.
    case read(Int)
    /// Collects more bytes after those that are collected, and parses all of them. The only step of a result.
    case extend(Int)
    /// Collects the next marker of a JPEG file and parses it. The bytes before are kept or erased.
    case findMarker(keepsData: Bool)
}

/// The structure of a file format.
protocol PictureFormat: Sendable {
    /// The steps at the beginning of a file.
    var firstSteps: [MetadataStep] { get }

    /// Parses the bytes that a step has collected. Appends as many bytes to the output, and returns the steps that
    /// follow. After the last step, the rest of the file is erased.
    ///
    /// - Throws: `PictureDamage` if the file is malformed.
    mutating func parse(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep]
}

extension PictureFormat {
    /// The bytes that a step collects at most: those of the largest JPEG segment, and of the EXIF block in others.
    static var maxRead: Int { 65_536 }
}

/// The error of a file that does not follow its format.
struct PictureDamage: Error, CustomStringConvertible {
    /// The damage, as a clause.
    let description: String

    init(_ description: String) { self.description = description }
}

extension [UInt8] {
    /// Reads a big-endian number of up to seven bytes. Returns nil outside of the array.
    func bigEndian(at offset: Int, bytes count: Int) -> Int? {
        guard offset >= 0, offset <= self.count - count else { return nil }
        return self[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Reads a little-endian number of up to seven bytes. Returns nil outside of the array.
    func littleEndian(at offset: Int, bytes count: Int) -> Int? {
        guard offset >= 0, offset <= self.count - count else { return nil }
        return self[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// The text of four bytes, such as a type. Nil outside of the array.
    func code(at offset: Int) -> String? {
        guard offset >= 0, offset <= count - 4 else { return nil }
        return String(decoding: self[offset..<offset + 4], as: UTF8.self)
    }
}
