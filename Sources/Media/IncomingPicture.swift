import FoundationEssentials
package import Messaging
package import NIOCore
import Synchronization
import SystemPackage

/// An upload to a folder. The picture exists only once it is complete and as declared.
///
/// The methods block on the disk and must be called one after another.
package final class IncomingPicture: Sendable {
    private struct State {
        var file: SystemPackage.FileDescriptor?
        var received = 0
        var firstBytes: [UInt8] = []
        var end: End?
    }

    /// The way in which an upload ended.
    enum End {
        /// The picture is stored, or the upload failed.
        case ended
        /// Another client's upload took the place of this slow one.
        case displaced
    }

    package let picture: Picture
    private let path: FilePath
    private let destination: FilePath
    private let marker: FilePath
    private let expires: Date
    private let onEnd: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - marker: the empty file that marks the address as used, also once the picture is removed.
    ///   - expires: the expiry of the address.
    ///   - onEnd: called once, at the end of the upload.
    init(
        _ picture: Picture, at path: String, destination: String, marker: String, expires: Date,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.picture = picture
        self.path = FilePath(path)
        self.destination = FilePath(destination)
        self.marker = FilePath(marker)
        self.expires = expires
        self.onEnd = onEnd
        state = Mutex(State())
    }

    /// Writes the next bytes.
    ///
    /// - Throws: `MediaError` if they cannot be written or exceed the declared size.
    package func write(_ bytes: ByteBuffer) throws {
        try state.withLock { state in
            switch state.end {
            case .displaced:
                throw MediaError("The upload was slow and the server is busy with others. Send it again later.")
            case .ended: throw MediaError("The upload has already ended.")
            case nil: break
            }
            state.received += bytes.readableBytes
            guard state.received <= picture.bytes else {
                throw MediaError("The picture has more than the declared \(picture.bytes) bytes.")
            }
            let missing = PictureType.signatureLength - state.firstBytes.count
            if missing > 0 { state.firstBytes += bytes.readableBytesView.prefix(missing) }
            let file = try state.file ?? open()
            state.file = file
            do {
                try file.writeAll(bytes.readableBytesView)
                beginWriting(file, from: state.received - bytes.readableBytes, count: bytes.readableBytes)
            } catch {
                throw MediaError("The picture cannot be written: \(error)")
            }
        }
    }

    /// Checks the complete picture against the promise, and moves it to its place on disk.
    ///
    /// - Throws: `MediaError` if it differs or already exists.
    package func finish() throws {
        defer { discard() }
        try state.withLock { state in
            guard let file = state.file, state.received == picture.bytes else {
                throw MediaError("The picture has \(state.received) bytes instead of the declared \(picture.bytes).")
            }
            guard PictureType(firstBytes: state.firstBytes) == picture.type else {
                throw MediaError("The picture is not \(picture.type.rawValue) by its first bytes.")
            }
            guard Date() < expires else {
                throw MediaError("This upload URL has expired. Request another by media.create.")
            }
            guard sync(file), mark(marker, in: marker.removingLastComponent()), link(path, destination) else {
                throw MediaError("This upload URL was already used, or the picture cannot be written.")
            }
        }
    }

    /// The number of bytes received.
    package var receivedBytes: Int { state.withLock(\.received) }

    /// Removes the partial upload.
    package func discard() { discard(.ended) }

    func discard(_ end: End) {
        let isFirst = state.withLock { state in
            let isFirst = state.end == nil
            if isFirst { state.end = end }
            if let file = state.file {
                state.file = nil
                try? file.close()
                remove(path)
            }
            return isFirst
        }
        if isFirst { onEnd() }
    }

    deinit { discard() }

    private func open() throws -> SystemPackage.FileDescriptor {
        do {
            return try SystemPackage.FileDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: [.ownerReadWrite])
        } catch {
            throw MediaError("The picture cannot be written: \(error)")
        }
    }
}
