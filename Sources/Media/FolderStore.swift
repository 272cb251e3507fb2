import Crypto
package import FoundationEssentials
package import Foundations
package import Messaging
import NIOPosix
import Synchronization
import SystemPackage

/// Pictures in a folder, served by the gateway: `avatars/` and `messages/`, uploads in progress in `incoming/`, and in
/// `used/` an empty file for each used upload address.
///
/// A file is named by its picture's id. It exists once it is complete on disk and as declared, and is never written
/// again. Its address then counts as used, also after the picture is removed. ``tidy()`` removes the empty file once
/// the address has expired.
package struct FolderStore: MediaStore {
    package let maxBytes: Int
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
        maxBytes = settings.maxBytes
        directory = settings.directory
        minFreeBytes = settings.minFreeBytes
        base = Base()
        self.now = now
        uploads = Uploads(maxBytes: settings.maxIncomingBytes)
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(settings.secret.utf8)), info: Array("postline media".utf8),
            outputByteCount: 32)
        do {
            for name in Picture.Purpose.allCases.map(Self.folder) + ["incoming", "used"] {
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

    /// Returns true if the folder contains a picture's bytes.
    package static func contains(_ picture: Picture, in settings: MediaSettings.Folder) -> Bool {
        FileManager.default.fileExists(atPath: "\(settings.directory)/\(folder(picture.purpose))/\(picture.id)")
    }

    /// Sets the URL by which clients reach the gateway, before any picture is offered.
    package func setURL(_ url: String) {
        base.url.withLock { $0 = url.hasSuffix("/") ? String(url.dropLast()) : url }
    }

    /// The base URL of addresses.
    private final class Base: Sendable {
        let url = Mutex("")
    }

    private var url: String { base.url.withLock(\.self) }

    package func upload(of picture: Picture) -> PictureUpload {
        let expires = SignedExpiry(in: MediaTimes.upload)
        let signature = sign(Self.words(of: picture, until: expires))
        let query =
            "for=\(picture.purpose.rawValue)&type=\(picture.type.rawValue.replacing("/", with: "%2F"))"
            + "&bytes=\(picture.bytes)&expires=\(expires.seconds)&signature=\(signature)"
        return PictureUpload(
            url: "\(url)/v1/media/\(picture.id)?\(query)", headers: [("Content-Type", picture.type.rawValue)],
            expiresAt: expires.date)
    }

    package func address(of id: ID, _ purpose: Picture.Purpose) -> String { "\(url)/v1/media/\(id)" }

    package func signedAddress(of id: ID) -> (url: String, expiresAt: Date) {
        let expires = SignedExpiry(in: MediaTimes.reading)
        let signature = sign(Self.words(reading: id, until: expires))
        return ("\(address(of: id, .message))?expires=\(expires.seconds)&signature=\(signature)", expires.date)
    }

    package func accept(_ picture: Picture) async throws -> MediaCheckResult {
        let path = path(of: picture.id, picture.purpose)
        return try await NIOThreadPool.singleton.runIfActive {
            FileManager.default.fileExists(atPath: path) ? .stored : .missing
        }
    }

    package func remove(_ id: ID, _ purpose: Picture.Purpose) async throws {
        let path = path(of: id, purpose)
        try await NIOThreadPool.singleton.runIfActive {
            guard FileManager.default.fileExists(atPath: path) else { return }
            try FileManager.default.removeItem(atPath: path)
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
    /// Returns the picture and expiry of a signed upload address, or nil if it was not signed here or has expired.
    ///
    /// - Parameter query: the query of the address.
    package func picture(_ id: ID, putBy query: [(name: String, value: String)]) -> (Picture, expires: Date)? {
        let fields = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
        guard query.count == 5, fields.count == 5,
            let purpose = fields["for"].flatMap(Picture.Purpose.init),
            let type = fields["type"].flatMap(PictureType.init), let bytes = fields["bytes"].flatMap({ Int($0) }),
            let expires = fields["expires"].flatMap({ SignedExpiry($0, within: MediaTimes.upload) }),
            let signature = fields["signature"]
        else { return nil }
        let picture = Picture(id: id, purpose: purpose, type: type, bytes: bytes)
        return isSigned(Self.words(of: picture, until: expires), signature) ? (picture, expires.date) : nil
    }

    /// Returns the file of a picture and the end of the address's validity, or nil if the address alone gives no
    /// access.
    package func file(_ id: ID, readBy query: [(name: String, value: String)]) -> (path: String, until: Date?)? {
        if query.isEmpty { return (path(of: id, .avatar), nil) }
        let fields = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
        guard query.count == 2, fields.count == 2,
            let expires = fields["expires"].flatMap({ SignedExpiry($0, within: MediaTimes.reading) }),
            let signature = fields["signature"], isSigned(Self.words(reading: id, until: expires), signature)
        else { return nil }
        return (path(of: id, .message), expires.date)
    }

    /// Starts to receive a picture.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - expires: the expiry of the upload address, before which the picture must be complete.
    /// - Throws: `UploadRefusal`.
    package func receive(
        _ picture: Picture, from client: AddressKey, until expires: Date
    ) throws(UploadRefusal) -> IncomingPicture {
        let destination = path(of: picture.id, picture.purpose)
        let marker = "\(directory)/used/\(picture.id)"
        for path in [destination, marker] where FileManager.default.fileExists(atPath: path) { throw .used }
        try uploads.begin(picture, from: client)
        let incoming = IncomingPicture(
            picture, at: "\(directory)/incoming/\(picture.id).\(ID.random())", destination: destination, marker: marker,
            expires: expires, now: now, onEnd: { [uploads] in uploads.end(picture.id) })
        uploads.setReceiver(incoming)
        // The bytes are already counted.
        guard hasFreeSpace(for: 0) else {
            incoming.discard()
            throw .diskFull
        }
        return incoming
    }

    private func path(of id: ID, _ purpose: Picture.Purpose) -> String {
        "\(directory)/\(Self.folder(purpose))/\(id)"
    }

    private static func folder(_ purpose: Picture.Purpose) -> String { "\(purpose.rawValue)s" }

    private static func words(of picture: Picture, until: SignedExpiry) -> String {
        "PUT \(picture.id) \(picture.purpose.rawValue) \(picture.type.rawValue) \(picture.bytes) \(until.seconds)"
    }

    private static func words(reading id: ID, until: SignedExpiry) -> String { "GET \(id) \(until.seconds)" }

    private func sign(_ words: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Array(words.utf8), using: key).hexadecimal
    }

    private func isSigned(_ words: String, _ signature: String) -> Bool {
        guard let code = [UInt8](hexadecimal: signature) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(words.utf8), using: key)
    }
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
