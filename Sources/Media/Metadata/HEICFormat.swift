import NIOCore

/// HEIC (ISO/IEC 14496-12 and 23008-12): boxes, of which `meta` lists the items of the file and their places.
///
/// Erased are the items with EXIF, XMP and other texts, and the boxes that no decoder needs. The orientation stays, since
/// it is a property of the image (`irot`, `imir`). The items must follow the list, as in the files of cameras.
struct HEICFormat: PictureFormat {
    private enum State {
        case box, largeSize
        /// The list of items, with the size of its header.
        case list(header: Int)
    }

    /// The boxes that are kept. A picture needs `mdat`, a sequence of pictures also `moov`.
    private static let kept: Set<String> = ["ftyp", "mdat", "moov"]

    /// The size of the list of items that is collected. One item of a picture in tiles takes about a hundred bytes.
    static let maxList = 1 << 20

    private var state = State.box

    /// The position of the next box in the file.
    private var position = 0

    /// The places of the items to erase, in order and apart.
    private var erased: [Range<Int>] = []

    /// The number of those places that end before the next box.
    private var passed = 0
    private var hasList = false

    let firstSteps = [MetadataStep.read(8)]

    mutating func parse(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep] {
        switch state {
        case .box:
            guard let size = bytes.bigEndian(at: 0, bytes: 4), let type = bytes.code(at: 4) else { return [] }
            if size == 1 {
                state = .largeSize
                return [.extend(8)]
            }
            return try box(type, bytes, size: size == 0 ? nil : size, into: &output)
        case .largeSize:
            // The largest size has seven bytes.
            guard bytes[8] == 0, let size = bytes.bigEndian(at: 9, bytes: 7), let type = bytes.code(at: 4) else {
                throw PictureDamage("a HEIC box has an impossible size")
            }
            return try box(type, bytes, size: size, into: &output)
        case .list(let header):
            let list = try HEICItems(bytes, header: header, at: position)
            if let first = list.erased.first, first.lowerBound < position {
                throw PictureDamage("HEIC metadata precede the list of items")
            }
            output.writeBytes(list.bytes)
            position += bytes.count
            erased = list.erased
            return nextBox()
        }
    }

    /// Returns the steps through a box.
    ///
    /// - Parameters:
    ///   - header: The size and type, already collected.
    ///   - size: The size with the header, or nil for the rest of the file.
    private mutating func box(
        _ type: String, _ header: [UInt8], size: Int?, into output: inout ByteBuffer
    ) throws(PictureDamage) -> [MetadataStep] {
        guard (size ?? .max) >= header.count else { throw PictureDamage("a HEIC box has the size \(size ?? 0)") }
        if type == "meta" {
            guard !hasList, let size, size <= Self.maxList else {
                throw PictureDamage("the list of items of a HEIC file is too long, or there twice")
            }
            hasList = true
            state = .list(header: header.count)
            return [.extend(size - header.count)]
        }
        let start = position + header.count
        let end = size.map { position + $0 } ?? .max
        let keepsBox = Self.kept.contains(type)
        // A box of free space may have any content.
        output.writeBytes(keepsBox ? header : Array(header[..<4] + Array("free".utf8) + header[8...]))
        guard keepsBox else {
            position = end
            return [.erase(end - start)] + (size == nil ? [] : nextBox())
        }
        var steps: [MetadataStep] = []
        position = start
        while passed < erased.count, erased[passed].lowerBound < end {
            let range = erased[passed].clamped(to: position..<end)
            steps += [.keep(range.lowerBound - position), .erase(range.count)]
            position = range.upperBound
            // The rest of the place is in the next box.
            if erased[passed].upperBound > end { break }
            passed += 1
        }
        steps.append(.keep(end - position))
        position = end
        return steps + (size == nil ? [] : nextBox())
    }

    private mutating func nextBox() -> [MetadataStep] {
        state = .box
        return [.read(8)]
    }
}
