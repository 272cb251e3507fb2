import Foundations
import Media
import Messaging
import Schema

/// Checks that a picture can be stored and removed.
struct MediaCheck: Sendable {
    /// The media settings, or nil if pictures are off.
    let settings: MediaSettings?

    private static let check = "pictures"

    func examine(_ report: (Finding) -> Void) async {
        guard let settings else { return }
        do {
            switch settings {
            case .folder(let folder):
                try FolderStore.check(folder)
                report(.ok(Self.check, "Pictures can be kept in \(folder.directory)."))
            case .s3(let store):
                if let flaw = try await S3Store(store).check() { throw MediaFlaw(description: flaw) }
                report(.ok(Self.check, "Pictures can be kept at \(store.endpoint)."))
            }
        } catch {
            report(
                .problem(
                    Self.check, "No pictures can be kept: \("\(error)".sentenceEnd)",
                    "See to the settings that begin with POSTLINE_MEDIA_."))
        }
    }

    /// Checks a sample of the pictures that the database refers to. A dump does not contain their bytes.
    func examine(_ admin: DatabaseUnderTest, _ report: (Finding) -> Void) async {
        guard let settings, let answer = try? await admin.query(.pictures), !answer.indices.isEmpty else { return }
        let pictures = answer.indices.compactMap { Self.picture(answer, $0) }
        let place =
            switch settings {
            case .folder(let folder): folder.directory
            case .s3(let store): store.endpoint
            }
        do {
            var missing: [Picture] = []
            for picture in pictures where try await !Self.isStored(picture, settings) { missing.append(picture) }
            let sampled = "\(pictures.count) of \(answer.integer("total")) pictures"
            guard let first = missing.first else {
                return report(.ok(Self.check, "All of the \(sampled) that were looked for are in \(place)."))
            }
            report(
                .problem(
                    Self.check,
                    "\(missing.count) of the \(sampled) that were looked for are missing in \(place), such as \(first.id).",
                    "Restore the folder or bucket of pictures from the same time as the database, or later, and see that "
                        + "the settings that begin with POSTLINE_MEDIA_ name it."))
        } catch {
            report(
                .warning(
                    Self.check, "The pictures could not be looked for: \("\(error)".sentenceEnd)",
                    "See to the settings that begin with POSTLINE_MEDIA_."))
        }
    }

    private static func picture(_ answer: QueryResult, _ row: Int) -> Picture? {
        guard let id = answer.text("id", row).flatMap({ ID($0) }),
            let purpose = answer.text("purpose", row).flatMap(Picture.Purpose.init),
            let type = answer.text("mime_type", row).flatMap(PictureType.init)
        else { return nil }
        return Picture(id: id, purpose: purpose, type: type, bytes: answer.integer("bytes", row))
    }

    private static func isStored(_ picture: Picture, _ settings: MediaSettings) async throws -> Bool {
        switch settings {
        case .folder(let folder): FolderStore.contains(picture, in: folder)
        case .s3(let store): try await S3Store(store).contains(picture)
        }
    }

    private struct MediaFlaw: Error, CustomStringConvertible {
        let description: String
    }
}
