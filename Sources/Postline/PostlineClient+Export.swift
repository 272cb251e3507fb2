public import Foundation

/// A copy of the user's data.
extension PostlineClient {
    /// Writes a copy of everything that the user may see to a file: the own data, conversations with their members'
    /// profiles, and all messages. Each line is a JSON object with one member, which is named by its kind
    /// (`docs/privacy.md`). Files of messages are not in it, but their ids.
    ///
    /// - Parameter file: The file, which is replaced once all is written.
    /// - Returns: The number of lines.
    /// - Throws: ``PostlineError``: `offline`, `rate_limited`, `signed_out`; `store_unusable` if the file cannot be
    ///   written.
    @discardableResult
    public func exportData(to file: URL) async throws(PostlineError) -> Int {
        let engine = try currentEngine()
        return try await convertingErrors {
            let part = file.appendingPathExtension("part")
            var count = 0
            do {
                try Data().write(to: part)
                let handle = try FileHandle(forWritingTo: part)
                defer { try? handle.close() }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                var position: String?
                repeat {
                    let page = try await engine.call(
                        "me.export", position.map { ["after": $0] } ?? [:], as: ExportPage.self)
                    for object in page.objects {
                        try handle.write(contentsOf: try encoder.encode(object) + [0x0A])
                    }
                    count += page.objects.count
                    position = page.next
                } while position != nil
                if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
                try FileManager.default.moveItem(at: part, to: file)
            } catch let error as PostlineError {
                try? FileManager.default.removeItem(at: part)
                throw error
            } catch {
                try? FileManager.default.removeItem(at: part)
                throw PostlineError(.storeUnusable, "The copy cannot be written: \(error)")
            }
            return count
        }
    }
}

/// The answer of `me.export`.
private struct ExportPage: Decodable, Sendable {
    let objects: [JSONValue]
    let next: String?
}
