import Foundation

/// The upload of a file to the URL of a `media.create`, or of its parts to those of `media.parts`. One that was
/// interrupted continues where it stopped.
struct FileUpload: Sendable {
    let content: FileContent
    let upload: MediaUpload
    /// True if an earlier attempt may have uploaded the file or a part of it.
    let hasBegun: Bool
    /// Calls `media.parts` with these params.
    let missingParts: @Sendable (_ params: [String: JSONValue]) async throws -> MissingParts

    enum Outcome: Sendable {
        /// The store has the file.
        case stored
        /// The URL has expired.
        case expired
    }

    /// Uploads the file, or what is missing of it.
    ///
    /// - Parameter progress: Called with the uploaded part of the whole file.
    /// - Throws: ``PostlineError``: `unavailable` if the upload is to be repeated later; `invalid_params` if the store
    ///   refuses the file.
    func run(progress: @escaping @Sendable (TransferProgress) -> Void) async throws -> Outcome {
        if let size = upload.upload.partBytes {
            do {
                return try await uploadParts(of: size, progress)
            } catch let error as PostlineError where error.code == .forbidden {
                // The store takes the file whole.
            } catch let error as PostlineError where error.code == .notFound {
                return .expired
            }
        }
        do {
            let begun = hasBegun ? try await uploadedBytes() : 0
            guard let offset = begun else { return .stored }
            let response = try await HTTPTransfer.put(
                content, from: offset, to: upload.upload.url, headers: upload.upload.headers, progress: progress)
            switch response.status {
            case 409:
                // An earlier attempt has used the URL, or the store has not noticed yet that its connection is lost.
                guard try await uploadedBytes(orStored: true) != nil else { return .stored }
                throw PostlineError(
                    .unavailable, "An earlier upload of the file has not ended yet.", isRetryable: true)
            case let status: return try Self.outcome(of: status)
            }
        } catch let error as PostlineError where error.isUncertain {
            // The connection to the server is another. While it lasts, the upload is tried again.
            throw PostlineError(.unavailable, error.message, isRetryable: true)
        }
    }

    /// Returns the outcome of a PUT by the status of its response.
    private static func outcome(of status: Int) throws -> Outcome {
        switch status {
        case 200..<300: return .stored
        case 403, 404, 410: return .expired
        case 500..., 408, 429:
            throw PostlineError(.unavailable, "The store refused the file with status \(status).", isRetryable: true)
        default:
            throw PostlineError(
                .invalidParams, "The store refused the file with status \(status).", field: "attachments[]")
        }
    }

    /// Uploads the parts that the store does not have.
    private func uploadParts(
        of size: Int, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> Outcome {
        let total = try content.count
        // Each response but the last names a part at least.
        for _ in 0...(total / max(1, size) + 1) {
            let parts = try await missingParts(["id": .string(upload.id)]).parts
            if parts.isEmpty { return .stored }
            for part in parts { try await put(part, of: total, progress) }
        }
        throw PostlineError(.unavailable, "The store has lost parts of the file.", isRetryable: true)
    }

    private func put(
        _ part: MissingParts.Part, of total: Int, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws {
        guard part.start >= 0, part.bytes > 0, part.bytes <= total - part.start else {
            throw PostlineError(.malformedAnswer, "The server asked for a part beyond the end of the file.")
        }
        do {
            let response = try await HTTPTransfer.put(
                content, from: part.start, upTo: part.start + part.bytes, to: part.url, headers: [:],
                progress: progress)
            // If its URL has expired, or the file is used or removed, the next attempt learns it by asking for parts.
            guard try Self.outcome(of: response.status) == .stored else {
                throw PostlineError(
                    .unavailable, "The store refused a part with status \(response.status).", isRetryable: true)
            }
        } catch let error as PostlineError where error.isUncertain {
            throw PostlineError(.unavailable, error.message, isRetryable: true)
        }
    }

    /// Returns the number of bytes that the store has, or nil if the upload is complete.
    ///
    /// - Parameter orStored: The result for a store that does not say it: a message with the file finds out.
    private func uploadedBytes(orStored: Bool = false) async throws -> Int? {
        let response = try await HTTPTransfer.head(upload.upload.url)
        guard 200..<300 ~= response.status, let offset = response.uploadOffset else { return orStored ? nil : 0 }
        guard !response.isUploadComplete else { return nil }
        return (0..<(try content.count)).contains(offset) ? offset : 0
    }
}
