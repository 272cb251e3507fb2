/// The list of items in a HEIC file, the box `meta` (ISO/IEC 14496-12, section 8.11).
struct HEICItems {
    /// The box without metadata.
    private(set) var bytes: [UInt8]

    /// The places of the metadata in the rest of the file, in order and apart.
    private(set) var erased: [Range<Int>] = []

    /// A box, with the places of its type and its content.
    private typealias Box = (type: String, typeStart: Int, content: Range<Int>)

    /// The types of items that are no images: EXIF, and texts such as XMP.
    private static let metadataTypes: Set<String> = ["Exif", "mime", "uri "]

    /// The boxes that describe the images and their places.
    private static let kept: Set<String> = [
        "hdlr", "pitm", "iinf", "iref", "iprp", "iloc", "idat", "dinf", "grpl", "ipro",
    ]

    /// The properties of an image that its picture does not need: its description and times.
    private static let erasedProperties: Set<String> = ["udes", "crtt", "mdft"]

    /// The largest number of boxes, items and places that are read. One item of a picture in tiles has three.
    static let maxEntries = 1 << 14

    /// The number of entries that may still be read.
    private var entriesLeft = maxEntries

    /// Reads the list.
    ///
    /// - Parameters:
    ///   - bytes: The box with its header.
    ///   - header: The size of its header.
    ///   - position: The position of the box in the file.
    /// - Throws: `PictureDamage` if the list is malformed, or has too many entries.
    init(_ bytes: [UInt8], header: Int, at position: Int) throws(PictureDamage) {
        self.bytes = bytes
        // Version and flags precede the boxes.
        guard bytes.count >= header + 4 else { throw Self.malformed }
        let boxes = try readBoxes(in: header + 4..<bytes.count)
        var items: Set<Int> = []
        for box in boxes where box.type == "iinf" {
            for item in try readMetadataItems(in: box.content) {
                items.insert(item.id)
                // Without its type, no reader expects EXIF or XMP in it.
                if let start = item.typeStart { self.bytes.replaceSubrange(start..<start + 4, with: "free".utf8) }
            }
        }
        var inFile: [Range<Int>] = []
        var inList: [Range<Int>] = []
        for box in boxes where box.type == "iloc" {
            let places = try readPlaces(of: items, in: box.content)
            inFile += places.inFile
            inList += places.inList
        }
        for box in boxes {
            if box.type == "iprp" { try eraseProperties(box.content) }
            if !Self.kept.contains(box.type) { erase(box) }
        }
        if let data = boxes.first(where: { $0.type == "idat" })?.content {
            erase(Self.merged(inList), from: data.lowerBound, within: data)
        }
        erased = Self.merged(inFile)
        // An offset in the file may also lead into the box.
        erase(erased, from: -position, within: 0..<bytes.count)
    }

    private static let malformed = PictureDamage("the list of items of a HEIC file is malformed")

    /// Replaces ranges by zeros, which are in order and apart.
    private mutating func erase(_ ranges: [Range<Int>], from base: Int, within limits: Range<Int>) {
        for range in ranges {
            let start = max(range.lowerBound + base, limits.lowerBound)
            let end = range.upperBound > limits.upperBound - base ? limits.upperBound : range.upperBound + base
            if start < end { bytes.replaceSubrange(start..<end, with: repeatElement(0, count: end - start)) }
        }
    }

    private mutating func erase(_ box: Box) {
        bytes.replaceSubrange(box.content, with: repeatElement(0, count: box.content.count))
        bytes.replaceSubrange(box.typeStart..<box.typeStart + 4, with: "free".utf8)
    }

    /// Erases the texts among the images' properties. They stay as empty boxes, since others are named by their number.
    private mutating func eraseProperties(_ content: Range<Int>) throws(PictureDamage) {
        for container in try readBoxes(in: content) where container.type == "ipco" {
            for box in try readBoxes(in: container.content) where Self.erasedProperties.contains(box.type) {
                erase(box)
            }
        }
    }

    /// Counts an entry that is read.
    private mutating func countEntry() throws(PictureDamage) {
        entriesLeft -= 1
        guard entriesLeft >= 0 else { throw PictureDamage("the list of items of a HEIC file has too many entries") }
    }

    private mutating func readBoxes(in part: Range<Int>) throws(PictureDamage) -> [Box] {
        var boxes: [Box] = []
        var start = part.lowerBound
        while start < part.upperBound {
            try countEntry()
            guard start + 8 <= part.upperBound, var size = bytes.bigEndian(at: start, bytes: 4),
                let type = bytes.code(at: start + 4)
            else { throw Self.malformed }
            var header = 8
            if size == 1 {
                header = 16
                guard let large = Self.number(in: bytes, at: start + 8, bytes: 8) else { throw Self.malformed }
                size = large
            } else if size == 0 {
                size = part.upperBound - start
            }
            guard size >= header, size <= part.upperBound - start else { throw Self.malformed }
            boxes.append((type, start + 4, start + header..<start + size))
            start += size
        }
        return boxes
    }

    /// Returns the ids of the items that are metadata, from the box `iinf`, and the places of their types.
    private mutating func readMetadataItems(
        in content: Range<Int>
    ) throws(PictureDamage) -> [(id: Int, typeStart: Int?)] {
        let header = bytes.bigEndian(at: content.lowerBound, bytes: 1) == 0 ? 6 : 8
        guard content.count >= header else { throw Self.malformed }
        var items: [(id: Int, typeStart: Int?)] = []
        for box in try readBoxes(in: content.lowerBound + header..<content.upperBound) where box.type == "infe" {
            let start = box.content.lowerBound
            let version = bytes.bigEndian(at: start, bytes: 1) ?? 0
            let idBytes = version < 3 ? 2 : 4
            guard let id = bytes.bigEndian(at: start + 4, bytes: idBytes) else { throw Self.malformed }
            // Before version 2 an item has no type, and is no image.
            guard version >= 2 else {
                items.append((id, nil))
                continue
            }
            let typeStart = start + 4 + idBytes + 2
            guard typeStart + 4 <= box.content.upperBound, let type = bytes.code(at: typeStart) else {
                throw Self.malformed
            }
            if Self.metadataTypes.contains(type) { items.append((id, typeStart)) }
        }
        return items
    }

    /// Returns the places of items in the file and in the box `idat`, from the box `iloc`.
    private mutating func readPlaces(
        of items: Set<Int>, in content: Range<Int>
    ) throws(PictureDamage) -> (inFile: [Range<Int>], inList: [Range<Int>]) {
        var (inFile, inList): ([Range<Int>], [Range<Int>]) = ([], [])
        var next = content.lowerBound
        func take(_ count: Int) throws(PictureDamage) -> Int {
            guard next + count <= content.upperBound, let number = Self.number(in: bytes, at: next, bytes: count) else {
                throw Self.malformed
            }
            next += count
            return number
        }
        let version = try take(1)
        next += 3
        let sizes = try take(2)
        let (offsetBytes, lengthBytes, baseBytes) = (sizes >> 12 & 15, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexBytes = version == 0 ? 0 : sizes & 15
        guard version <= 2, [offsetBytes, lengthBytes, baseBytes, indexBytes].allSatisfy([0, 4, 8].contains) else {
            throw Self.malformed
        }
        for _ in 0..<(try take(version < 2 ? 2 : 4)) {
            try countEntry()
            let id = try take(version < 2 ? 2 : 4)
            let method = version == 0 ? 0 : try take(2) & 15
            let reference = try take(2)
            let base = try take(baseBytes)
            let extents = try take(2)
            let extentBytes = indexBytes + offsetBytes + lengthBytes
            guard items.contains(id), reference == 0 else {
                next += extents * extentBytes
                continue
            }
            guard method < 2 else { throw Self.malformed }
            // Extents without a size are all the same.
            for _ in 0..<(extentBytes == 0 ? min(extents, 1) : extents) {
                try countEntry()
                _ = try take(indexBytes)
                let start = base + (try take(offsetBytes))
                let length = try take(lengthBytes)
                // Without a length, an extent is everything.
                let range = start..<(length == 0 ? .max : start + length)
                if method == 0 { inFile.append(range) } else { inList.append(range) }
            }
        }
        return (inFile, inList)
    }

    /// Reads a number of up to eight bytes. Returns nil for a larger one than any file has, or outside of the array.
    private static func number(in bytes: [UInt8], at offset: Int, bytes count: Int) -> Int? {
        guard count == 8 else { return bytes.bigEndian(at: offset, bytes: count) }
        return bytes.bigEndian(at: offset, bytes: 1) == 0 ? bytes.bigEndian(at: offset + 1, bytes: 7) : nil
    }

    /// Returns the ranges in order and apart.
    private static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { merged, range in
            guard let last = merged.last, range.lowerBound <= last.upperBound else { return merged.append(range) }
            merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
        }
    }
}
