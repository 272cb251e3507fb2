import Messaging
import Testing

/// The brands of HEIC and AVIF (E34).
@Suite("Picture types")
struct PictureTypeTests {
    @Test(
        "a file with an ftyp box is HEIC if its brands say HEVC and none says AV1",
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
        #expect((PictureType(firstBytes: box + [UInt8](repeating: 0, count: 200)) == .heic) == isHEIC)
    }

    @Test("an ftyp box of a size that cannot be is no picture", arguments: [0, 1, 8, 12, 15, 17, 18, 26, 132, 1 << 31])
    func sizes(_ size: Int) {
        let bytes = box("heic", ["mif1", "heic"], size: size) + [UInt8](repeating: 0, count: 200)
        #expect(PictureType(firstBytes: bytes) == nil)
        // Cut off in the middle of the box.
        #expect(PictureType(firstBytes: box("heic", ["mif1", "heic"]).dropLast()) == nil)
    }

    private func box(_ major: String, _ compatible: [String], size: Int? = nil) -> [UInt8] {
        let rest = Array(("ftyp" + major + "\0\0\0\0" + compatible.joined()).utf8)
        let size = size ?? rest.count + 4
        return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + rest
    }
}
