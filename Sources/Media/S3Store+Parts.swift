import FoundationEssentials
import Foundations
package import Messaging
import NIOCore
import NIOHTTP1

/// Uploads in parts. The store itself knows which parts it has, so that any node continues an upload.
extension S3Store {
    /// The size of a part. Stores require at least 5 MiB for all but the last.
    private static let partBytes = 8 << 20

    /// The most parts of a response. Their URLs are valid long enough to upload them at 150 kbit/s.
    private static let maxParts = 8

    package func partBytes(of media: MediaFile) -> Int? { media.bytes > Self.partBytes ? Self.partBytes : nil }

    package func missingParts(of media: MediaFile) async throws -> [UploadPart]? {
        let key = Self.upload(media.id)
        guard let uploads = try await partialUploads(of: media.id) else { return nil }
        var upload = uploads.min()
        if upload == nil {
            let whole = try await send("HEAD", settings.bucket, key)
            if whole.status == .ok, whole.total == media.bytes { return [] }
            let begun = try await send("POST", settings.bucket, key, query: [("uploads", "")])
            guard begun.status == .ok, let id = begun.elements("UploadId").first else {
                throw MediaError("The store failed to begin an upload in parts: \(begun.status.code).")
            }
            upload = String(id)
        }
        guard let upload else { return nil }
        let present = try await parts(of: media, in: upload)
        let expiresAt = Date() + TimeInterval(MediaTimes.upload)
        let missing = Self.ranges(of: media).enumerated().filter { present[$0.offset + 1] == nil }
        return missing.prefix(Self.maxParts).map { index, range in
            let url = url(
                "PUT", settings.bucket, key, [("Content-Length", "\(range.count)")],
                query: [("partNumber", "\(index + 1)"), ("uploadId", upload)], seconds: Int(MediaTimes.upload))
            return UploadPart(start: range.lowerBound, bytes: range.count, url: url, expiresAt: expiresAt)
        }
    }

    /// Lets the store join the parts of a file. Returns false if some are missing.
    ///
    /// Two nodes may have begun an upload at the same time.
    func joinParts(of media: MediaFile) async throws -> Bool {
        guard partBytes(of: media) != nil else { return false }
        for upload in try await partialUploads(of: media.id) ?? [] {
            let present = try await parts(of: media, in: upload)
            guard present.count == Self.ranges(of: media).count else { continue }
            let list = present.sorted { $0.key < $1.key }.map { number, tag in
                "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
            }
            let joined = try await send(
                "POST", settings.bucket, Self.upload(media.id), query: [("uploadId", upload)],
                body: "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>",
                within: Self.waitTimeout(for: media))
            // Another node may have joined them. The store may respond with 200 and an error.
            guard joined.status == .notFound || joined.status == .ok && joined.elements("Code").isEmpty else {
                throw MediaError("The store failed to join the parts: \(joined.status.code).")
            }
            return true
        }
        return false
    }

    /// Removes all parts of a file.
    func removeParts(of id: ID) async throws {
        for upload in try await partialUploads(of: id) ?? [] {
            let removed = try await send(
                "DELETE", settings.bucket, Self.upload(id), query: [("uploadId", upload)])
            guard [.ok, .noContent, .notFound].contains(removed.status) else {
                throw MediaError("The store failed to remove parts: \(removed.status.code).")
            }
        }
    }

    /// Returns the store's ids of the uploads in parts of a file, or nil if the store has none: without the permission
    /// to list them, or the feature.
    private func partialUploads(of id: ID) async throws -> [String]? {
        let key = Self.upload(id)
        let list = try await send(
            "GET", settings.bucket, "", query: [("uploads", ""), ("prefix", key)], maxBytes: Self.maxListBytes)
        if [.forbidden, .notFound, .methodNotAllowed, .notImplemented].contains(list.status) { return nil }
        guard list.status == .ok else {
            throw MediaError("The store failed to list uploads in parts: \(list.status.code).")
        }
        return list.elements("Upload").filter { $0.elements("Key") == [key[...]] }.flatMap {
            $0.elements("UploadId").map { String($0) }
        }
    }

    /// Returns the tags of the parts that have their expected size, by number from 1. A store without the upload has
    /// none.
    private func parts(of media: MediaFile, in upload: String) async throws -> [Int: Substring] {
        let list = try await send(
            "GET", settings.bucket, Self.upload(media.id), query: [("uploadId", upload)], maxBytes: Self.maxListBytes)
        guard list.status != .notFound else { return [:] }
        guard list.status == .ok else {
            throw MediaError("The store failed to list the parts of an upload: \(list.status.code).")
        }
        let ranges = Self.ranges(of: media)
        var tags: [Int: Substring] = [:]
        for part in list.elements("Part") {
            guard let number = part.elements("PartNumber").first.flatMap({ Int($0) }),
                let size = part.elements("Size").first.flatMap({ Int($0) }), let tag = part.elements("ETag").first,
                ranges.indices.contains(number - 1), ranges[number - 1].count == size
            else { continue }
            tags[number] = tag
        }
        return tags
    }

    /// The most bytes of a list that are read: many more than one of a file's 128 parts has.
    private static let maxListBytes = 1 << 20

    /// Returns the parts of a file as ranges of its bytes.
    private static func ranges(of media: MediaFile) -> [Range<Int>] {
        stride(from: 0, to: media.bytes, by: partBytes).map { $0..<min($0 + partBytes, media.bytes) }
    }
}

extension S3Store.StoreResponse {
    /// Returns the contents of all elements of a name in the body.
    fileprivate func elements(_ name: String) -> [Substring] {
        String(buffer: body)[...].elements(name)
    }
}

extension Substring {
    /// Returns the contents of all elements of a name in XML that a store sends: without attributes, and not nested in
    /// one of the same name. Entities stay as they are.
    fileprivate func elements(_ name: String) -> [Substring] {
        split(separator: "<\(name)>", omittingEmptySubsequences: false).dropFirst().compactMap { rest in
            rest.firstRange(of: "</\(name)>").map { rest[..<$0.lowerBound] }
        }
    }
}
