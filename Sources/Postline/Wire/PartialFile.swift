import Foundation
import NIOConcurrencyHelpers
import NIOCore

/// A file that is being downloaded. After an interruption the rest is requested.
final class PartialFile: Sendable {
    private struct State {
        /// The bytes that were written.
        var count = 0
        /// The validator of the file's content, without which it cannot be continued.
        var entityTag: String?
    }

    private let handle: FileHandle
    private let maxBytes: Int
    private let state = NIOLockedValueBox(State())

    /// Creates an empty file that only its user can read.
    ///
    /// - Throws: `CocoaError` if the file cannot be written.
    init(_ url: URL, maxBytes: Int) throws {
        self.maxBytes = maxBytes
        let descriptor = unsafe open(url.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// The header fields that request the rest of the file (RFC 9110, sections 13.1.5 and 14.2).
    var rangeHeaders: [String: String] {
        state.withLockedValue { state in
            guard state.count > 0, let tag = state.entityTag else { return [:] }
            return ["Range": "bytes=\(state.count)-", "If-Range": tag]
        }
    }

    /// Prepares the file for the body of a response, and returns the size of the whole file, or nil if it is unknown.
    ///
    /// - Throws: ``PostlineError``: `invalid_params` for a file that is too large; `malformed_answer` for another range
    ///   than was requested.
    func begin(isRange: Bool, contentRange: String?, bytes: Int?, entityTag: String?) throws -> Int? {
        try state.withLockedValue { state in
            if isRange {
                guard let contentRange, contentRange.hasPrefix("bytes \(state.count)-") else {
                    throw PostlineError(.malformedAnswer, "The store sent another part of the file than was requested.")
                }
            } else {
                try handle.truncate(atOffset: 0)
                state.count = 0
            }
            // A weak validator does not identify the bytes.
            state.entityTag = entityTag?.hasPrefix("\"") == true ? entityTag : nil
            let total = bytes.map { $0 + state.count }
            if let total, total > maxBytes { throw tooLarge }
            return total
        }
    }

    /// Appends bytes, and returns the number of all bytes. One call at a time.
    ///
    /// - Throws: ``PostlineError``, `invalid_params`, for a file that is too large, and errors of the disk.
    func append(_ part: ByteBuffer) throws -> Int {
        let count = state.withLockedValue { $0.count }
        guard part.readableBytes <= maxBytes - count else { throw tooLarge }
        try handle.write(contentsOf: Data(part.readableBytesView))
        return state.withLockedValue { state in
            state.count += part.readableBytes
            return state.count
        }
    }

    /// Closes the file.
    func close() throws { try handle.close() }

    private var tooLarge: PostlineError {
        PostlineError(
            .fileTooLarge, "The file has more than \(maxBytes) bytes: fileBytes of FileLimits is the limit.",
            field: "attachment")
    }
}
