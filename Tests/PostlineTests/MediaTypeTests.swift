import Foundations
import Testing

/// The first bytes of files, and the brands of HEIC and AVIF (E34).
@Suite("Media types")
struct MediaTypeTests {
    @Test(
        "an ftyp box is HEIC if its brands say HEVC and not AV1",
        arguments: [
            ("heic", ["mif1", "heic"], true), ("heic", [], true), ("heix", ["mif1", "heix"], true),
            ("heim", ["mif1"], true), ("heis", ["mif1"], true), ("hevc", ["msf1", "hevc"], true),
            ("hevx", ["hevx"], true),
            ("mif1", ["mif1", "heic"], true), ("mif1", ["miaf", "MiHB", "mif1", "heix"], true),
            ("msf1", ["msf1", "hevc"], true), ("mif1", Array(repeating: "miaf", count: 20) + ["heic"], true),
            ("avif", ["mif1", "miaf", "MA1B"], false), ("avis", ["msf1", "miaf"], false),
            ("mif1", ["avif", "miaf"], false), ("mif1", ["mif1", "miaf", "avif"], false),
            ("mif1", ["mif1", "miaf", "MA1B", "x001", "x002", "x003", "avif"], false), ("msf1", ["avis"], false),
            ("mif1", ["heic", "avif"], false), ("heic", ["mif1", "heic", "avif"], false), ("mif1", ["mif1"], false),
            ("mif1", [], false), ("mif1", ["jpeg"], false), ("mif1", ["avci"], false), ("isom", ["heic"], false),
            ("mp42", ["isom"], false), ("qt  ", [], false), ("HEIC", ["heic"], false), ("mif2", ["avif"], false),
        ])
    func brands(_ major: String, _ compatible: [String], _ isHEIC: Bool) {
        let box = self.box(major, compatible)
        #expect((MediaType(firstBytes: box + [UInt8](repeating: 0, count: 200)) == .heic) == isHEIC)
    }

    @Test("refuses an ftyp box of an impossible size", arguments: [0, 1, 8, 12, 15, 17, 18, 26, 132, 1 << 31])
    func sizes(_ size: Int) {
        let bytes = box("heic", ["mif1", "heic"], size: size) + [UInt8](repeating: 0, count: 200)
        #expect(MediaType(firstBytes: bytes) == nil)
        // Cut within the box.
        #expect(MediaType(firstBytes: box("heic", ["mif1", "heic"]).dropLast()) == nil)
    }

    /// Types with beginnings of files, each character a byte.
    private static let beginnings: [(MediaType, String)] = [
        (.mp4, "\0\0\0\u{18}ftypisom\0\0\0\0isommp42"), (.mp4, "\0\0\0\u{14}ftypiso5\0\0\u{2}\0iso5"),
        (.mp4Audio, "\0\0\0\u{18}ftypM4A \0\0\0\0M4A mp42"), (.quickTime, "\0\0\0\u{14}ftypqt  \0\0\0\0qt  "),
        (.quickTime, "\0\0\0\u{8}wide"), (.webm, "\u{1A}E\u{DF}\u{A3}\u{9F}B\u{86}\u{81}\u{1}B\u{82}\u{84}webm"),
        (.mp3, "ID3\u{4}"), (.mp3, "\u{FF}\u{FB}\u{90}"), (.ogg, "OggS\0"), (.wav, "RIFF\0\0\0\0WAVE"),
        (.pdf, "%PDF-1.4"), (.zip, "PK\u{3}\u{4}"), (.zip, "PK\u{5}\u{6}"),
    ]

    @Test("a file begins as its type does", arguments: beginnings)
    func signatures(_ type: MediaType, _ text: String) {
        let bytes = text.unicodeScalars.map { UInt8($0.value) }
        #expect(type.matches(firstBytes: bytes) && !type.matches(firstBytes: Array("<html>".utf8)))
        #expect(!type.matches(firstBytes: bytes.dropLast(bytes.count - 1)))
        // No other container accepts it, except those that a video shares with its audio.
        let others = MediaType.allCases.filter {
            ![type, .text, .binary].contains($0)
                && $0.rawValue.split(separator: "/")[1] != type.rawValue.split(separator: "/")[1]
        }
        for other in others { #expect(!other.matches(firstBytes: bytes), "\(other)") }
    }

    @Test("AAC frames, Matroska and pictures in ISO containers are not taken for other types")
    func lookalikes() {
        #expect(!MediaType.mp3.matches(firstBytes: [0xFF, 0xF1, 0x50]))
        #expect(!MediaType.webm.matches(firstBytes: [0x1A, 0x45, 0xDF, 0xA3] + Array("matroska".utf8)))
        for brand in ["heic", "mif1", "avif", "qt  "] {
            #expect(!MediaType.mp4.matches(firstBytes: box(brand, ["isom"])))
        }
        #expect(!MediaType.wav.matches(firstBytes: Array("RIFF\0\0\0\0WEBP".utf8)))
        for type in [MediaType.text, .binary] { #expect(type.matches(firstBytes: [])) }
    }

    private func box(_ major: String, _ compatible: [String], size: Int? = nil) -> [UInt8] {
        let rest = Array(("ftyp" + major + "\0\0\0\0" + compatible.joined()).utf8)
        let size = size ?? rest.count + 4
        return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + rest
    }
}
