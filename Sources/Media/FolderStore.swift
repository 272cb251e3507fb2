import Crypto
package import FoundationEssentials
package import Foundations
package import Messaging
import NIOPosix
import Synchronization
import SystemPackage

/// Files in a folder, served by the gateway: `avatars/` and `messages/`, uploads in progress in `incoming/`, and in
/// `used/` an empty file for each used upload address.
///
/// The part that has arrived of an interrupted upload stays in `incoming/` until its address expires, unless it is a
/// picture, whose metadata is erased while it arrives. Its length is all the state that is needed to continue, on any
/// node.
///
/// A file is named by its id. It exists once it is complete on disk and as declared, and is never written
/// again. Its address then counts as used, also after the file is removed. ``tidy()`` removes the empty file once
/// the address has expired.
package struct FolderStore: MediaStore {
    package let limits: MediaLimits
    private let directory: String
    private let minFreeBytes: Int
    private let base: Base
    private let uploads: Uploads
    private let now: @Sendable () -> ContinuousClock.Instant
    private let key: SymmetricKey

    /// - Parameter now: the clock of the rates of uploads.
    /// - Throws: `MediaError` if the folder cannot be used.
    package init(
        _ settings: MediaSettings.Folder, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws {
        limits = settings.limits
        directory = settings.directory
        minFreeBytes = settings.minFreeBytes
        base = Base()
        self.now = now
        uploads = Uploads(maxBytes: settings.maxIncomingBytes)
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(settings.secret.utf8)), info: Array("postline media".utf8),
            outputByteCount: 32)
        do {
            for name in MediaFile.Purpose.allCases.map(Self.folder) + ["incoming", "used"] {
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(name)", withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            let probe = "\(directory)/incoming/.probe-\(ID.random())"
            guard FileManager.default.createFile(atPath: probe, contents: nil) else {
                throw MediaError("\(directory) is not writable.")
            }
            try FileManager.default.removeItem(atPath: probe)
        } catch let error as MediaError {
            throw error
        } catch {
            throw MediaError("\(directory) cannot be used: \(error)")
        }
        if let url = settings.url { setURL(url) }
    }

    /// Checks that a folder can be used. It is not created, which would hide a misspelt path.
    ///
    /// - Throws: `MediaError` if it cannot.
    package static func check(_ settings: MediaSettings.Folder) throws {
        let path = settings.directory
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw MediaError(
                "The folder \(path) does not exist: create it, writable by the user that the node runs as.")
        }
        let probe = "\(path)/.probe-\(ID.random())"
        guard isFolder, FileManager.default.createFile(atPath: probe, contents: nil) else {
            throw MediaError("\(path) must be a folder that this user can write to.")
        }
        try FileManager.default.removeItem(atPath: probe)
    }

    /// Returns true if the folder contains a file's bytes.
    package static func contains(_ media: MediaFile, in settings: MediaSettings.Folder) -> Bool {
        FileManager.default.fileExists(atPath: "\(settings.directory)/\(folder(media.purpose))/\(media.id)")
    }

    /// Sets the URL by which clients reach the gateway, before any file is offered.
    package func setURL(_ url: String) {
        base.url.withLock { $0 = url.hasSuffix("/") ? String(url.dropLast()) : url }
    }

    /// The base URL of addresses.
    private final class Base: Sendable {
        let url = Mutex("")
    }

    private var url: String { base.url.withLock(\.self) }

    package func upload(of media: MediaFile) -> UploadAddress {
        let expires = SignedExpiry(in: MediaTimes.upload)
        let signature = sign(Self.words(of: media, until: expires))
        let query =
            "for=\(media.purpose.rawValue)&type=\(media.type.rawValue.replacing("/", with: "%2F"))"
            + "&bytes=\(media.bytes)&expires=\(expires.seconds)&signature=\(signature)"
        return UploadAddress(
            url: "\(url)/v1/media/\(media.id)?\(query)", headers: [("Content-Type", media.type.rawValue)],
            expiresAt: expires.date)
    }

    package func address(of id: ID, _ purpose: MediaFile.Purpose) -> String { "\(url)/v1/media/\(id)" }

    package func signedAddress(of id: ID, _ type: MediaType, name: String?) -> (url: String, expiresAt: Date) {
        let expires = SignedExpiry(in: MediaTimes.reading)
        // Those of pictures are understood by nodes of the previous version.
        let (type, name) = type.isPicture ? (nil, nil) : (type, name)
        let signature = sign(Self.words(reading: id, type, name: name, until: expires))
        let fields = [
            type.map { ("type", $0.rawValue) }, name.map { ("name", $0) }, ("expires", "\(expires.seconds)"),
            ("signature", signature),
        ].compactMap(\.self)
        let query = fields.map { "\($0.0)=\($0.1.percentEncoded())" }.joined(separator: "&")
        return ("\(address(of: id, .message))?\(query)", expires.date)
    }

    package func accept(_ media: MediaFile) async throws -> MediaCheckResult {
        let path = path(of: media.id, media.purpose)
        return try await NIOThreadPool.singleton.runIfActive {
            FileManager.default.fileExists(atPath: path) ? .stored : .missing
        }
    }

    package func remove(_ id: ID, _ purpose: MediaFile.Purpose) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            for path in [path(of: id, purpose), partialPath(of: id)] where FileManager.default.fileExists(atPath: path)
            {
                try FileManager.default.removeItem(atPath: path)
            }
        }
    }

    package func removeUpload(_ id: ID) async throws {}

    package func hasRoom(for bytes: Int) async throws -> Bool {
        if minFreeBytes == 0 { return true }
        return try await NIOThreadPool.singleton.runIfActive { hasFreeSpace(for: bytes) }
    }

    /// Returns true if enough disk space stays free after the running uploads and this many bytes.
    private func hasFreeSpace(for bytes: Int) -> Bool {
        guard minFreeBytes > 0, let free = freeBytes(at: FilePath(directory)) else { return true }
        return free >= minFreeBytes + uploads.bytes + bytes
    }

    /// Removes interrupted uploads, and the marks of expired addresses.
    package func tidy() async throws {
        try await NIOThreadPool.singleton.runIfActive {
            try removeFiles(in: "incoming", olderThan: MediaTimes.upload)
            // Twice the age, since clocks differ.
            try removeFiles(in: "used", olderThan: 2 * MediaTimes.upload)
        }
    }

    private func removeFiles(in folder: String, olderThan seconds: Int64) throws {
        let folder = "\(directory)/\(folder)"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(name)"
            let changed = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            if let changed, changed.timeIntervalSinceNow < -TimeInterval(seconds) {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }
}

/// Methods for the gateway.
extension FolderStore {
    /// Returns the file and expiry of a signed upload address, or nil if it was not signed here or has expired.
    ///
    /// - Parameter query: the query of the address.
    package func media(_ id: ID, putBy query: [(name: String, value: String)]) -> (MediaFile, expires: Date)? {
        let fields = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
        guard query.count == 5, fields.count == 5,
            let purpose = fields["for"].flatMap(MediaFile.Purpose.init),
            let type = fields["type"].flatMap(MediaType.init), let bytes = fields["bytes"].flatMap({ Int($0) }),
            let expires = fields["expires"].flatMap({ SignedExpiry($0, within: MediaTimes.upload) }),
            let signature = fields["signature"]
        else { return nil }
        let media = MediaFile(id: id, purpose: purpose, type: type, bytes: bytes)
        return isSigned(Self.words(of: media, until: expires), signature) ? (media, expires.date) : nil
    }

    /// Returns the file at an address, or nil if the address alone gives no access.
    package func file(_ id: ID, readBy query: [(name: String, value: String)]) -> StoredFile? {
        if query.isEmpty { return StoredFile(path: path(of: id, .avatar)) }
        let fields = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
        guard query.count == fields.count,
            Set(fields.keys).subtracting(["name", "type"]) == ["expires", "signature"],
            let expires = fields["expires"].flatMap({ SignedExpiry($0, within: MediaTimes.reading) }),
            let signature = fields["signature"]
        else { return nil }
        let type = fields["type"].flatMap(MediaType.init)
        guard type != nil || fields["type"] == nil && fields["name"] == nil,
            isSigned(Self.words(reading: id, type, name: fields["name"], until: expires), signature)
        else { return nil }
        return StoredFile(path: path(of: id, .message), until: expires.date, type: type, name: fields["name"])
    }

    /// Returns how many bytes of an upload have arrived, and if it is complete. Ends a running upload of the file at this
    /// node, so that the number stays until the client continues.
    package func status(of media: MediaFile) -> (received: Int, isComplete: Bool) {
        uploads.interrupt(media.id)
        if isUsed(media) { return (media.bytes, true) }
        let received = fileSize(FilePath(partialPath(of: media.id))) ?? 0
        // No part can follow the last byte, so an upload that was interrupted there begins anew.
        return (received < media.bytes ? received : 0, false)
    }

    /// Returns true if the upload address was used.
    private func isUsed(_ media: MediaFile) -> Bool {
        [path(of: media.id, media.purpose), marker(of: media.id)].contains {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    /// Starts to receive a file, or a part of it.
    ///
    /// - Parameters:
    ///   - part: the bytes of the file that arrive; nil for the whole file.
    ///   - client: the client's address.
    ///   - expires: the expiry of the upload address, before which the file must be complete.
    /// - Throws: `UploadRefusal`.
    package func receive(
        _ media: MediaFile, _ part: Range<Int>? = nil, from client: AddressKey, until expires: Date
    ) throws(UploadRefusal) -> IncomingFile {
        if isUsed(media) { throw .used }
        try uploads.begin(media, from: client)
        let incoming: IncomingFile
        do throws(UploadRefusal) {
            let file = try partialFile(of: media, from: part?.lowerBound)
            let path = file == nil ? "\(directory)/incoming/\(media.id).\(ID.random())" : partialPath(of: media.id)
            incoming = IncomingFile(
                media, part ?? 0..<media.bytes, at: FilePath(path), file: file,
                destination: self.path(of: media.id, media.purpose), marker: marker(of: media.id), expires: expires,
                now: now, onEnd: { [uploads] in uploads.end(media.id) })
        } catch {
            uploads.end(media.id)
            throw error
        }
        uploads.setReceiver(incoming)
        // The bytes are already counted.
        guard hasFreeSpace(for: 0) else {
            incoming.discard()
            throw .diskFull
        }
        return incoming
    }

    /// Opens the partial file of an upload that can be resumed, at its end. Nil for a picture.
    ///
    /// - Parameter start: the byte at which the client continues; nil to begin anew.
    private func partialFile(
        of media: MediaFile, from start: Int?
    ) throws(UploadRefusal) -> SystemPackage.FileDescriptor? {
        guard !media.type.isPicture else {
            guard (start ?? 0) == 0 else { throw .offset(0) }
            return nil
        }
        let opened: SystemPackage.FileDescriptor?
        do {
            opened = try openLocked(FilePath(partialPath(of: media.id)))
        } catch {
            throw .diskFull
        }
        guard let file = opened else { throw .inProgress }
        do {
            // Before it was locked here, another node may have finished it.
            if isUsed(media) { throw UploadRefusal.used }
            if start == nil { try file.resize(to: 0) }
            let length = Int(try file.seek(offset: 0, from: .end))
            if let start, start != length { throw UploadRefusal.offset(length) }
            return file
        } catch {
            unlockAndClose(file)
            throw error as? UploadRefusal ?? .diskFull
        }
    }

    private func partialPath(of id: ID) -> String { "\(directory)/incoming/\(id)" }

    private func marker(of id: ID) -> String { "\(directory)/used/\(id)" }

    private func path(of id: ID, _ purpose: MediaFile.Purpose) -> String {
        "\(directory)/\(Self.folder(purpose))/\(id)"
    }

    private static func folder(_ purpose: MediaFile.Purpose) -> String { "\(purpose.rawValue)s" }

    private static func words(of media: MediaFile, until: SignedExpiry) -> String {
        "PUT \(media.id) \(media.purpose.rawValue) \(media.type.rawValue) \(media.bytes) \(until.seconds)"
    }

    /// - Parameter type: nil for a picture.
    private static func words(reading id: ID, _ type: MediaType?, name: String?, until: SignedExpiry) -> String {
        "GET \(id) \(until.seconds)" + (type.map { " \($0.rawValue)" } ?? "") + (name.map { " \($0)" } ?? "")
    }

    private func sign(_ words: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Array(words.utf8), using: key).hexadecimal
    }

    private func isSigned(_ words: String, _ signature: String) -> Bool {
        guard let code = [UInt8](hexadecimal: signature) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(words.utf8), using: key)
    }
}

/// A file that an address gives access to. It need not exist.
package struct StoredFile: Sendable {
    package let path: String

    /// The end of the address's validity; nil for an avatar's, which has none.
    package var until: Date?

    /// The type of the file, or nil for a picture of any type.
    package var type: MediaType?

    /// The name for downloads.
    package var name: String?
}

/// The expiry of an address, in whole seconds as it is written and signed.
private struct SignedExpiry {
    /// Seconds since 1970.
    let seconds: Int64

    var date: Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }

    /// - Parameter validity: the seconds from now.
    init(in validity: Int64) {
        seconds = Date().wholeSeconds + validity
    }

    /// Parses an expiry. Nil unless it is a number in its shortest form, in the future, and no later than any of our
    /// addresses.
    init?(_ text: String, within validity: Int64) {
        let now = Date().wholeSeconds
        guard let seconds = Int64(text), text == "\(seconds)", seconds > now,
            seconds <= now + validity + MediaTimes.clockDifference
        else { return nil }
        self.seconds = seconds
    }
}
