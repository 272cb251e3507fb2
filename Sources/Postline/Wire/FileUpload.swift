import Foundation

/// The upload of a file to the URL of a `media.create`. One that was interrupted continues where it stopped.
struct FileUpload: Sendable {
    let content: FileContent
    let upload: MediaUpload
    /// True if an earlier attempt may have uploaded the file or a part of it.
    let hasBegun: Bool

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
        do {
            let begun = hasBegun ? try await uploadedBytes() : 0
            guard let offset = begun else { return .stored }
            let response = try await HTTPTransfer.put(
                content, from: offset, to: upload.upload.url, headers: upload.upload.headers, progress: progress)
            switch response.status {
            case 200..<300: return .stored
            case 403, 404, 410: return .expired
            case 409:
                // An earlier attempt has used the URL, or the store has not noticed yet that its connection is lost.
                guard try await uploadedBytes(orStored: true) != nil else { return .stored }
                throw PostlineError(
                    .unavailable, "An earlier upload of the file has not ended yet.", isRetryable: true)
            case let status where status >= 500 || [408, 429].contains(status):
                throw PostlineError(
                    .unavailable, "The store refused the file with status \(status).", isRetryable: true)
            case let status:
                throw PostlineError(
                    .invalidParams, "The store refused the file with status \(status).", field: "attachments[]")
            }
        } catch let error as PostlineError where error.isUncertain {
            // The connection to the server is another. While it lasts, the upload is tried again.
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
