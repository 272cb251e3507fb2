import Foundation
import Foundations

/// A file to send that was checked: its type, its size and what else the server wants to know.
struct CheckedAttachment: Sendable {
    /// The attachment as it is shown until it is sent.
    var attachment: Message.Attachment
    let content: FileContent
    let preview: Preview?

    struct Preview: Sendable {
        let data: Data
        let mimeType: String
    }

    /// The bytes that wait in the outbox.
    var waitingBytes: Int { (attachment.bytes ?? 0) + (preview?.data.count ?? 0) }

    /// The number of files.
    var fileCount: Int { preview == nil ? 1 : 2 }

    /// Checks files to send, with the bounds of the server. A picture is scaled down to 2,048 pixels.
    ///
    /// - Throws: ``PostlineError``, `invalid_params` or `file_too_large`, with the field as by `fields`, such as
    ///   `attachments[1].name`.
    @concurrent
    static func checking(
        _ attachments: [OutgoingAttachment], limits: FileLimits, field: @Sendable (Int) -> String
    ) async throws(PostlineError) -> [CheckedAttachment] {
        try MessageDetails.checkCount(of: attachments)
        var checked: [CheckedAttachment] = []
        for (index, attachment) in attachments.enumerated() {
            checked.append(try await CheckedAttachment(attachment, limits: limits, field: field(index)))
        }
        return checked
    }

    @concurrent
    init(_ outgoing: OutgoingAttachment, limits: FileLimits, field: String) async throws(PostlineError) {
        let filename: String? = if case .file(let url) = outgoing.content { url.lastPathComponent } else { nil }
        var content = outgoing.content
        var type: String
        let bytes: Int
        do {
            type = FileType.detect(
                try content.prefix(MediaType.signatureLength), declared: outgoing.mimeType,
                name: outgoing.name ?? filename)
            if type.hasPrefix("image/") {
                let picture = await Platform.scaled(try content.read(), toPixels: 2_048)
                type = FileType.picture(picture) ?? type
                content = .data(picture)
            }
            bytes = try content.count
        } catch {
            throw Self.refusal(field, "cannot be read: \(filename ?? "the data"). Choose a file that is readable.")
        }
        let isPicture = type.hasPrefix("image/")
        let most = isPicture ? limits.pictureBytes : limits.fileBytes
        guard bytes > 0 else { throw Self.refusal(field, "is empty: choose a file with at least one byte.") }
        guard bytes <= most else {
            throw PostlineError(
                .fileTooLarge, "\"\(field)\" has \(bytes) bytes, more than \(most): make it smaller.", field: field)
        }
        attachment = Message.Attachment(
            url: "", mimeType: type, width: outgoing.width, height: outgoing.height, bytes: bytes)
        // The name of a photograph is its sender's business.
        if !isPicture { attachment.name = outgoing.name ?? Self.name(filename) }
        attachment.blurhash = outgoing.blurhash
        attachment.duration = outgoing.duration
        attachment.waveform = outgoing.waveform
        self.content = content
        if let picture = outgoing.preview {
            let scaled = await Platform.scaled(picture, toPixels: 1_280)
            guard let type = FileType.picture(scaled), scaled.count <= limits.pictureBytes else {
                throw Self.refusal(
                    "\(field).preview",
                    "must be a JPEG, PNG, WebP, GIF or HEIC file of at most \(limits.pictureBytes) bytes.")
            }
            preview = Preview(data: scaled, mimeType: type)
        } else {
            preview = nil
        }
        try check(field)
    }

    /// Checks the members with the bounds of the server.
    private func check(_ field: String) throws(PostlineError) {
        if let name = attachment.name {
            let scalars = name.unicodeScalars
            guard 1...255 ~= scalars.count, !scalars.contains(where: Message.Attachment.isControl),
                scalars.contains(where: { !$0.properties.isWhitespace })
            else {
                throw Self.refusal(
                    "\(field).name", "must be 1 to 255 characters long, without control characters.")
            }
        }
        for (name, side) in [("width", attachment.width), ("height", attachment.height)] {
            guard side.map({ 1...65_535 ~= $0 }) ?? true else {
                throw Self.refusal("\(field).\(name)", "must be 1 to 65,535 pixels (got \(side ?? 0)).")
            }
        }
        guard attachment.blurhash?.unicodeScalars.allSatisfy(BlurHash.digits.unicodeScalars.contains) ?? true,
            attachment.blurhash?.utf8.count ?? 0 <= 128
        else { throw Self.refusal("\(field).blurhash", "must be a BlurHash of at most 128 characters.") }
        guard attachment.durationMilliseconds ?? 0 >= 0 else {
            throw Self.refusal("\(field).duration", "must not be negative.")
        }
        let values = attachment.waveform?.count ?? 0
        guard values <= 128 else {
            throw Self.refusal("\(field).waveform", "must have at most 128 values (got \(values)): send fewer.")
        }
    }

    /// Returns the name of a file without the characters that the server refuses.
    private static func name(_ filename: String?) -> String {
        let text = (filename ?? "").unicodeScalars.map { Message.Attachment.isControl($0) ? "_" : Character($0) }
        let name = String(text.prefix(255))
        return name.contains { !$0.isWhitespace } ? name : "file"
    }

    private static func refusal(_ field: String, _ problem: String) -> PostlineError {
        PostlineError(.invalidParams, "\"\(field)\" \(problem)", field: field)
    }
}
