import Foundation
import Foundations
@testable import Media
import NIOCore
import TestSupport
import Testing

/// The pictures in `Fixtures/Pictures` have EXIF with a position and the orientation 6 (HEIC: a property of the image),
/// XMP, comments and texts, all with the word "secret". Pillow 13 wrote them.
@Suite("Metadata of pictures")
struct MetadataEraserTests {
    /// Erases a picture's metadata, which arrives in parts of this size.
    static func erased(_ bytes: [UInt8], _ type: MediaType, partSize: Int = .max) throws -> [UInt8] {
        var eraser = MetadataEraser(type)
        var output = ByteBuffer()
        for start in stride(from: 0, to: bytes.count, by: min(partSize, max(bytes.count, 1))) {
            let part = bytes[start..<min(bytes.count, start + min(partSize, bytes.count))]
            try eraser.erase(ByteBufferView(part), into: &output)
        }
        eraser.finish(into: &output)
        let result = Array(output.readableBytesView)
        #expect(eraser.hasErased == (result != bytes))
        return result
    }

    private static func fixture(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Repository.url("Tests/PostlineTests/Fixtures/Pictures/\(name)")))
    }

    private static func has(_ bytes: [UInt8], _ text: String) -> Bool {
        Data(bytes).range(of: Data(text.utf8)) != nil
    }

    static let files: [(String, MediaType)] = [
        ("turned.jpg", .jpeg), ("progressive.jpg", .jpeg), ("turned.png", .png), ("turned.webp", .webp),
        ("turned.heic", .heic),
    ]

    @Test("erases all metadata and keeps the image and its orientation", arguments: files)
    func fixtures(_ name: String, _ type: MediaType) throws {
        let original = try Self.fixture(name)
        let result = try Self.erased(original, type)
        #expect(result.count == original.count)
        #expect(Self.has(original, "ecret") && !Self.has(result, "ecret"))
        for text in ["x:xmpmeta", "8BIM", "Author", "tIME", "tEXt", "iTXt", "XMP "] {
            #expect(!Self.has(result, text), "\(text)")
        }
        switch type {
        case .jpeg:
            let exif = Array("Exif\0\0".utf8) + EXIFOrientation.tiff(6)
            #expect(Data(result).range(of: Data(exif)) != nil)
            // From the tables to the end of the image.
            let start = try #require(Data(original).range(of: Data([0xFF, 0xDB])))
            let end = try #require(Data(original).range(of: Data([0xFF, 0xD9]), options: .backwards))
            #expect(result[start.lowerBound..<end.upperBound] == original[start.lowerBound..<end.upperBound])
        case .png:
            let chunk = Array("eXIf".utf8) + EXIFOrientation.tiff(6)
            #expect(Data(result).range(of: Data(chunk)) != nil)
            let start = try #require(Data(original).range(of: Data("IDAT".utf8))).lowerBound
            let end = try #require(Data(original).range(of: Data("IEND".utf8))).upperBound + 4
            #expect(result[start..<end] == original[start..<end])
        case .webp:
            #expect(Data(result).range(of: Data(EXIFOrientation.tiff(6))) != nil)
            let start = try #require(Data(original).range(of: Data("VP8 ".utf8))).lowerBound
            let end = try #require(Data(original).range(of: Data("EXIF".utf8))).lowerBound
            #expect(result[start..<end] == original[start..<end])
        case .heic:
            // The list of items, and the image with 131 bytes. EXIF and XMP follow.
            for place in [0..<143, 241..<658] { #expect(result[place] == original[place]) }
            #expect(Self.has(result, "irot") && !Self.has(result, "Exif") && !Self.has(result, "mime"))
            #expect(result[658...].allSatisfy { $0 == 0 })
        default: break
        }
    }

    @Test("erases the same of parts of any size, and nothing again", arguments: files)
    func parts(_ name: String, _ type: MediaType) throws {
        let original = try Self.fixture(name)
        let result = try Self.erased(original, type)
        for size in [1, 2, 3, 7, 64, 1_000] {
            #expect(try Self.erased(original, type, partSize: size) == result, "\(size)")
        }
        #expect(try Self.erased(result, type) == result)
    }

    @Test("survives damaged and cut pictures and keeps their size", arguments: files)
    func damaged(_ name: String, _ type: MediaType) throws {
        var random = SystemRandomNumberGenerator()
        let original = try Self.fixture(name)
        for count in 0..<original.count {
            let cut = Array(original[..<count])
            #expect(try Self.erased(cut, type).count == count)
        }
        for _ in 0..<1_000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] =
                    [
                        0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random),
                    ].randomElement(using: &random) ?? 0
            }
            var eraser = MetadataEraser(type)
            var output = ByteBuffer()
            do {
                try eraser.erase(ByteBufferView(bytes), into: &output)
            } catch {
                continue
            }
            eraser.finish(into: &output)
            guard output.readableBytes == bytes.count else {
                Issue.record("\(Data(bytes).base64EncodedString())")
                return
            }
        }
    }

    private static func bytes(_ first: [UInt8], _ text: String, _ last: [UInt8] = []) -> [UInt8] {
        first + Array(text.utf8) + last
    }

    /// The beginning of a file.
    private static func start(_ type: MediaType) -> [UInt8] {
        switch type {
        case .jpeg: [0xFF, 0xD8]
        case .png: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        case .webp: bytes([0x52, 0x49, 0x46, 0x46, 100, 0, 0, 0], "WEBP")
        case .heic: bytes([0, 0, 0, 24], "ftypheic\0\0\0\0mif1heic")
        default: []
        }
    }

    static let impossible: [(MediaType, [UInt8])] = [
        (.jpeg, [0xFF, 0xE1, 0, 1]), (.jpeg, [0xFF, 0xE1, 0, 0]), (.jpeg, [0xFF, 0xFE, 0, 1]),
        (.jpeg, [0xFF, 0xD8, 0, 4]),
        (.png, bytes([0x80, 0, 0, 0], "IDAT")), (.png, bytes([0xFF, 0xFF, 0xFF, 0xFF], "eXIf")),
        (.png, bytes([0, 0, 0, 1, 0], "DAT")),
        (.webp, bytes([], "EXIF", [0xFF, 0xFF, 0xFF, 0xFF])), (.webp, bytes([], "XMP ", [93, 0, 0, 0])),
        (.heic, bytes([0, 0, 0, 7], "mdat")), (.heic, bytes([0, 0x10, 0, 1], "meta")),
        (.heic, bytes([0, 0, 0, 0], "meta")), (.heic, bytes([0, 0, 0, 8], "meta")),
        (.heic, bytes([0, 0, 0, 1], "mdat", [0xFF, 0, 0, 0, 0, 0, 0, 0])),
        (.heic, bytes([0, 0, 0, 1], "mdat", [0, 0, 0, 0, 0, 0, 0, 15])),
    ]

    @Test("refuses impossible lengths", arguments: impossible)
    func lengths(_ type: MediaType, _ bytes: [UInt8]) throws {
        #expect(throws: PictureDamage.self) {
            try Self.erased(Self.start(type) + bytes + [UInt8](repeating: 0x41, count: 200), type)
        }
    }

    @Test("erases metadata to the end of the file if they claim to be longer")
    func claimed() throws {
        let secret = Array(repeating: UInt8(0x73), count: 5_000)
        let headers: [(MediaType, [UInt8])] = [
            (.jpeg, Self.bytes([0xFF, 0xE1, 0xFF, 0xFF], "Exif\0\0")), (.jpeg, [0xFF, 0xED, 0xFF, 0xFF]),
            (.png, Self.bytes([0x7F, 0xFF, 0xFF, 0xFF], "tEXt")), (.png, Self.bytes([0x7F, 0xFF, 0xFF, 0xFF], "eXIf")),
            (.heic, Self.bytes([0, 0, 0, 0], "uuid")),
            (.heic, Self.bytes([0, 0, 0, 1], "free", [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        ]
        for (type, header) in headers {
            let bytes = Self.start(type) + header + secret
            let result = try Self.erased(bytes, type, partSize: 100)
            #expect(result.count == bytes.count && !result.contains(0x73), "\(type)")
        }
    }

    @Test("collects at most 64 KiB, and 1 MiB of a list of items")
    func bounds() throws {
        let headers: [(MediaType, [UInt8], Int)] = [
            (.jpeg, [0xFF, 0xE1, 0xFF, 0xFF], 65_536),
            // With the header.
            (.png, Self.bytes([0x7F, 0xFF, 0xFF, 0xFF], "eXIf"), 65_536 + 8),
            (.heic, Self.bytes([0, 0x10, 0, 0], "meta"), 1 << 20),
        ]
        for (type, header, limit) in headers {
            var eraser = MetadataEraser(type)
            var (received, written) = (0, 0)
            let zeros = [UInt8](repeating: 0, count: 10_000)
            for part in [Self.start(type) + header] + Array(repeating: zeros, count: 100) {
                var output = ByteBuffer()
                try eraser.erase(ByteBufferView(part), into: &output)
                received += part.count
                written += output.readableBytes
                #expect(received - written <= limit)
            }
        }
    }

    @Test("reads the orientation of EXIF in bounds")
    func orientations() {
        for orientation in UInt8(2)...8 {
            #expect(EXIFOrientation.find(in: EXIFOrientation.tiff(orientation)) == orientation)
        }
        #expect(EXIFOrientation.tiff(6).count == EXIFOrientation.size)
        for wrong in [UInt8(0), 1, 9, 255] { #expect(EXIFOrientation.find(in: EXIFOrientation.tiff(wrong)) == nil) }
        let little: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]
        #expect(EXIFOrientation.find(in: little) == 8)
        for count in 0..<20 { #expect(EXIFOrientation.find(in: Array(little.prefix(count))) == nil) }
        let far: [UInt8] = [0x4D, 0x4D, 0, 42, 0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 100)
        #expect(EXIFOrientation.find(in: far) == nil)
        #expect(EXIFOrientation.find(in: [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0xFF, 0xFF]) == nil)
    }

    @Test("writes the checksum of an erased chunk")
    func checksums() {
        // The checksums of zlib's crc32.
        #expect(PNGFormat.checksum(of: Array("IEND".utf8), zeros: 0) == 0xAE42_6082)
        #expect(PNGFormat.checksum(of: Array("noNe".utf8), zeros: 5) == 0x376E_6C42)
    }

    /// The smallest parts of each format.
    static let smallParts: [(type: MediaType, part: [UInt8])] = [
        (.jpeg, [0xFF, 0xE1, 0, 2]), (.jpeg, [0xFF, 0xE0, 0, 2]), (.jpeg, [0xFF, 0x01]), (.jpeg, [0xFF, 0xFF, 0]),
        (.jpeg, [0xFF, 0xDA, 0, 2]), (.png, bytes([0, 0, 0, 0], "noNe", [0, 0, 0, 0])),
        (.webp, bytes([], "noNe", [0, 0, 0, 0])), (.heic, bytes([0, 0, 0, 8], "mdat")),
    ]

    @Test("refuses a picture of very many parts", arguments: smallParts)
    func manyParts(_ type: MediaType, _ part: [UInt8]) throws {
        // WebP has the size of the file at its beginning.
        let start = type == .webp ? Self.bytes([0x52, 0x49, 0x46, 0x46, 0, 0, 1, 0], "WEBP") : Self.start(type)
        _ = try Self.erased(start + Array(repeating: part, count: 200).joined(), type)
        let many = start + Array(repeating: part, count: 5_000).joined()
        #expect(throws: PictureDamage.self) { try Self.erased(many, type) }
        #expect(throws: PictureDamage.self) { try Self.erased(many, type, partSize: 1_000) }
    }

    @Test("keeps a scan of escapes and restarts", arguments: [1, 2, 3, 1_000, .max])
    func escapes(_ partSize: Int) throws {
        let scan = (0..<3_000).flatMap { [0xFF, 0, 0xFF, 0xD0 + UInt8($0 % 8), 1, 0xFF, 0] as [UInt8] }
        let bytes = Self.start(.jpeg) + [0xFF, 0xDA, 0, 2] + scan + [0xFF, 0xFF, 0xFF, 0xD9]
        #expect(try Self.erased(bytes, .jpeg, partSize: partSize) == bytes)
    }

    enum ListEntry: CaseIterable { case box, item, property, place, located }

    @Test("refuses a list of very many entries in a HEIC file", arguments: ListEntry.allCases)
    func manyItems(_ entry: ListEntry) throws {
        func number(_ value: Int, _ bytes: Int = 4) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
        }
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            number(content.count + 8) + Array(type.utf8) + content
        }
        func repeated(_ count: Int, _ part: [UInt8]) -> [UInt8] { Array(repeating: part, count: count).joined() + [] }
        func file(_ count: Int) -> [UInt8] {
            let exif = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("Exif".utf8) + [0])
            var (boxes, items, properties, places, others) = (0, 1, 0, 1, 0)
            switch entry {
            case .box: boxes = count
            case .item: items = count
            case .property: properties = count
            case .place: places = count
            case .located: others = count
            }
            let located = number(1, 2) + [0, 0] + number(places, 2) + repeated(places, number(1_000_000) + number(8))
            let other = repeated(others, number(2, 2) + [0, 0, 0, 0])
            let list = box(
                "meta",
                [0, 0, 0, 0] + repeated(boxes, box("free", []))
                    + box("iinf", [0, 0, 0, 0] + number(items, 2) + repeated(items, exif))
                    + box("iprp", box("ipco", repeated(properties, box("irot", [1]))))
                    + box("iloc", [0, 0, 0, 0, 0x44, 0] + number(1 + others, 2) + located + other))
            return Self.start(.heic) + list + box("mdat", [UInt8](repeating: 1, count: 1_000))
        }
        let some = file(1_000)
        #expect(try Self.erased(some, .heic).count == some.count)
        let damage = #expect(throws: PictureDamage.self) { try Self.erased(file(20_000), .heic) }
        #expect("\(damage, default: "none")".contains("too many entries"))
    }
}
