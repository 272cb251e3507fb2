import Foundations
import Media
import Messaging
import Schema

/// Checks that a file can be stored and removed.
struct MediaCheck: Sendable {
    /// The media settings, or nil if files are off.
    let settings: MediaSettings?

    private static let check = "files"

    func examine(_ report: (Finding) -> Void) async {
        guard let settings else { return }
        do {
            switch settings {
            case .folder(let folder):
                try FolderStore.check(folder)
                report(.ok(Self.check, "Files can be kept in \(folder.directory)."))
            case .s3(let store):
                if let flaw = try await S3Store(store).check() { throw MediaFlaw(description: flaw) }
                report(.ok(Self.check, "Files can be kept at \(store.endpoint)."))
            }
        } catch {
            report(
                .problem(
                    Self.check, "No files can be kept: \("\(error)".sentenceEnd)",
                    "See to the settings that begin with POSTLINE_MEDIA_."))
        }
    }

    /// Checks a sample of the files that the database refers to. A dump does not contain their bytes.
    func examine(_ admin: DatabaseUnderTest, _ report: (Finding) -> Void) async {
        guard let settings, let answer = try? await admin.query(.pictures), !answer.indices.isEmpty else { return }
        let pictures = answer.indices.compactMap { Self.media(answer, $0) }
        let place =
            switch settings {
            case .folder(let folder): folder.directory
            case .s3(let store): store.endpoint
            }
        do {
            var missing: [MediaFile] = []
            for media in pictures where try await !Self.isStored(media, settings) { missing.append(media) }
            let sampled = "\(pictures.count) of \(answer.integer("total")) files"
            guard let first = missing.first else {
                return report(.ok(Self.check, "All of the \(sampled) that were looked for are in \(place)."))
            }
            report(
                .problem(
                    Self.check,
                    "\(missing.count) of the \(sampled) that were looked for are missing in \(place), such as \(first.id).",
                    "Restore the folder or bucket of files from the same time as the database, or later, and see that "
                        + "the settings that begin with POSTLINE_MEDIA_ name it."))
        } catch {
            report(
                .warning(
                    Self.check, "The files could not be looked for: \("\(error)".sentenceEnd)",
                    "See to the settings that begin with POSTLINE_MEDIA_."))
        }
    }

    private static func media(_ answer: QueryResult, _ row: Int) -> MediaFile? {
        guard let id = answer.text("id", row).flatMap({ ID($0) }),
            let purpose = answer.text("purpose", row).flatMap(MediaFile.Purpose.init),
            let type = answer.text("mime_type", row).flatMap(MediaType.init)
        else { return nil }
        return MediaFile(id: id, purpose: purpose, type: type, bytes: answer.integer("bytes", row))
    }

    private static func isStored(_ media: MediaFile, _ settings: MediaSettings) async throws -> Bool {
        switch settings {
        case .folder(let folder): FolderStore.contains(media, in: folder)
        case .s3(let store): try await S3Store(store).contains(media)
        }
    }

    private struct MediaFlaw: Error, CustomStringConvertible {
        let description: String
    }
}
