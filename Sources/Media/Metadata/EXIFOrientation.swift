/// The orientation in EXIF metadata, which is a TIFF file (TIFF 6.0, section 2; CIPA DC-008, tag 274).
enum EXIFOrientation {
    /// The bytes of ``tiff(_:)``.
    static let size = 26

    private static let tag = 0x0112

    /// Returns the orientation if the picture must be turned or mirrored: 2 to 8.
    static func find(in tiff: [UInt8]) -> UInt8? {
        let isLittleEndian: Bool
        switch tiff.prefix(4) {
        case [0x49, 0x49, 42, 0]: isLittleEndian = true
        case [0x4D, 0x4D, 0, 42]: isLittleEndian = false
        default: return nil
        }
        func number(at offset: Int, bytes count: Int) -> Int? {
            isLittleEndian ? tiff.littleEndian(at: offset, bytes: count) : tiff.bigEndian(at: offset, bytes: count)
        }
        guard let directory = number(at: 4, bytes: 4), let count = number(at: directory, bytes: 2) else { return nil }
        for entry in 0..<count {
            let offset = directory + 2 + 12 * entry
            guard let found = number(at: offset, bytes: 2) else { return nil }
            // A number of two bytes (SHORT) is at the beginning of the entry's value.
            guard found == tag, number(at: offset + 2, bytes: 2) == 3 else { continue }
            return number(at: offset + 8, bytes: 2).flatMap { (2...8).contains($0) ? UInt8($0) : nil }
        }
        return nil
    }

    /// Returns a TIFF file with an orientation and nothing else.
    static func tiff(_ orientation: UInt8) -> [UInt8] {
        [
            0x4D, 0x4D, 0, 42, 0, 0, 0, 8,
            0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0,
            0, 0, 0, 0,
        ]
    }
}
