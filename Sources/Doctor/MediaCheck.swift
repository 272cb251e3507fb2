internal import Media

/// Where pictures are kept: whether one can be put there and taken away again.
struct MediaCheck: Sendable {
    /// Nil where none are kept.
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

    private struct MediaFlaw: Error, CustomStringConvertible {
        let description: String
    }
}
