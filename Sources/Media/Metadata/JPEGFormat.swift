import NIOCore

/// JPEG (ITU-T T.81, annex B): markers, of which most begin a segment with a length.
///
/// Kept are the segments that a decoder needs: those of T.81, JFIF without its preview, the colour profile and Adobe's
/// transform. EXIF becomes its orientation. All other application segments and comments are erased, and so is
/// everything after the end of the image, such as other images with EXIF of their own (MPF) and videos.
struct JPEGFormat: PictureFormat {
    private enum State {
        case start, marker
        /// The two bytes of a segment's length.
        case length(of: UInt8)
        /// A segment of EXIF or XMP.
        case exif
        /// The beginning of an application segment, with the number of bytes that follow.
        case application(UInt8, rest: Int)
    }

    private var state = State.start
    private var hasOrientation = false

    let firstSteps = [MetadataStep.read(2)]

    private static let nextSegment = MetadataStep.findMarker(keepsData: false)

    mutating func parse(_ bytes: [UInt8], into output: inout ByteBuffer) throws(PictureDamage) -> [MetadataStep] {
        switch state {
        case .start:
            guard bytes == [0xFF, 0xD8] else { throw PictureDamage("it does not begin as JPEG") }
            output.writeBytes(bytes)
            state = .marker
            return [Self.nextSegment]
        case .marker:
            output.writeBytes(bytes)
            return try afterMarker(bytes[1])
        case .length(let marker):
            guard let length = bytes.bigEndian(at: 0, bytes: 2), length >= 2 else {
                throw PictureDamage("a JPEG segment has the length \(bytes[1])")
            }
            output.writeBytes(bytes)
            state = .marker
            return segment(marker, length - 2)
        case .exif:
            state = .marker
            writeEXIF(bytes, into: &output)
            return [Self.nextSegment]
        case .application(let marker, let rest):
            state = .marker
            return application(marker, bytes, rest: rest, into: &output)
        }
    }

    private mutating func afterMarker(_ marker: UInt8) throws(PictureDamage) -> [MetadataStep] {
        switch marker {
        // The end of the image.
        case 0xD9: return []
        // Markers without a segment.
        case 0x01, 0xD0...0xD7: return [Self.nextSegment]
        case 0xD8: throw PictureDamage("a JPEG image begins within another")
        default:
            state = .length(of: marker)
            return [.read(2)]
        }
    }

    /// Returns the steps through a segment.
    private mutating func segment(_ marker: UInt8, _ count: Int) -> [MetadataStep] {
        switch marker {
        case 0xE1:
            state = .exif
            return [.read(count)]
        case 0xE0, 0xE2, 0xEE:
            let first = min(count, 14)
            state = .application(marker, rest: count - first)
            return [.read(first)]
        // The image's data follow a start of scan.
        case 0xDA: return [.keep(count), .findMarker(keepsData: true)]
        // Frames, tables, the restart interval and the number of lines.
        case 0xC0...0xCF, 0xDB...0xDF: return [.keep(count), Self.nextSegment]
        default: return [.erase(count), Self.nextSegment]
        }
    }

    private mutating func writeEXIF(_ segment: [UInt8], into output: inout ByteBuffer) {
        var kept: [UInt8] = []
        // Readers use the first one.
        if !hasOrientation, segment.starts(with: "Exif\0".utf8), segment.count >= 6 + EXIFOrientation.size,
            let orientation = EXIFOrientation.find(in: Array(segment.dropFirst(6)))
        {
            kept = Array("Exif\0\0".utf8) + EXIFOrientation.tiff(orientation)
            hasOrientation = true
        }
        output.writeBytes(kept)
        output.writeRepeatingByte(0, count: segment.count - kept.count)
    }

    private func application(
        _ marker: UInt8, _ first: [UInt8], rest: Int, into output: inout ByteBuffer
    ) -> [MetadataStep] {
        switch marker {
        case 0xE0 where first.starts(with: "JFIF\0".utf8) && first.count == 14:
            // Without the sides of the preview, which is erased.
            output.writeBytes(first.dropLast(2) + [0, 0])
            return [.erase(rest), Self.nextSegment]
        case 0xE2 where first.starts(with: "ICC_PROFILE\0".utf8), 0xEE where first.starts(with: "Adobe".utf8):
            output.writeBytes(first)
            return [.keep(rest), Self.nextSegment]
        default:
            output.writeRepeatingByte(0, count: first.count)
            return [.erase(rest), Self.nextSegment]
        }
    }
}
