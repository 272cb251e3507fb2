import FoundationEssentials
package import Messaging
package import NIOCore
import Synchronization
import SystemPackage

/// An upload to a folder. The picture exists only once it is complete and as declared, and has no metadata.
///
/// The methods block on the disk and must be called one after another.
package final class IncomingPicture: Sendable {
    private struct State {
        var file: SystemPackage.FileDescriptor?
        var received = 0
        var firstBytes: [UInt8] = []
        var eraser: MetadataEraser
        var written = 0
        /// The error of a damaged picture. Nothing of it is written from then on.
        var damage: PictureDamage?
        var hasEnded = false
    }

    package let picture: Picture
    private let path: FilePath
    private let destination: FilePath
    private let marker: FilePath
    private let expires: Date
    private let onEnd: @Sendable () -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// Apart from the state, which is locked while the disk is written.
    private let rate: Mutex<UploadRate>
    private let isDisplaced = Atomic(false)

    /// - Parameters:
    ///   - marker: the empty file that marks the address as used, also once the picture is removed.
    ///   - expires: the expiry of the address.
    ///   - onEnd: called once, at the end of the upload.
    init(
        _ picture: Picture, at path: String, destination: String, marker: String, expires: Date,
        now: @escaping @Sendable () -> ContinuousClock.Instant, onEnd: @escaping @Sendable () -> Void
    ) {
        self.picture = picture
        self.path = FilePath(path)
        self.destination = FilePath(destination)
        self.marker = FilePath(marker)
        self.expires = expires
        self.onEnd = onEnd
        self.now = now
        state = Mutex(State(eraser: MetadataEraser(picture.type)))
        rate = Mutex(UploadRate(start: now()))
    }

    /// Writes the next bytes, without metadata.
    ///
    /// - Throws: `MediaError` if they cannot be written or exceed the declared size.
    package func write(_ bytes: ByteBuffer) throws {
        try state.withLock { state in
            if state.hasEnded { throw MediaError(refusal ?? "The upload has already ended.") }
            rate.withLock { $0.add(bytes.readableBytes, now: now()) }
            state.received += bytes.readableBytes
            guard state.received <= picture.bytes else {
                throw MediaError("The picture has more than the declared \(picture.bytes) bytes.")
            }
            let missing = PictureType.signatureLength - state.firstBytes.count
            if missing > 0 { state.firstBytes += bytes.readableBytesView.prefix(missing) }
            guard state.damage == nil else { return }
            var output = ByteBuffer()
            do throws(PictureDamage) {
                try state.eraser.erase(bytes.readableBytesView, into: &output)
            } catch {
                // The whole upload is awaited, so that the client gets this error and not one of the connection.
                state.damage = error
                return
            }
            try write(output, &state)
        }
    }

    private func write(_ output: ByteBuffer, _ state: inout State) throws {
        let file = try state.file ?? open()
        state.file = file
        do {
            try file.writeAll(output.readableBytesView)
            beginWriting(file, from: state.written, count: output.readableBytes)
            state.written += output.readableBytes
        } catch {
            throw MediaError("The picture cannot be written: \(error)")
        }
    }

    /// Checks the complete picture against the promise, and moves it to its place on disk.
    ///
    /// - Throws: `MediaError` if it differs or already exists.
    package func finish() throws {
        defer { discard() }
        try state.withLock { state in
            guard state.received == picture.bytes else {
                throw MediaError("The picture has \(state.received) bytes instead of the declared \(picture.bytes).")
            }
            guard PictureType(firstBytes: state.firstBytes) == picture.type else {
                throw MediaError("The picture is not \(picture.type.rawValue) by its first bytes.")
            }
            if let damage = state.damage { throw MediaError("The picture is damaged: \(damage).") }
            var output = ByteBuffer()
            state.eraser.finish(into: &output)
            try write(output, &state)
            guard Date() < expires else {
                throw MediaError("This upload URL has expired. Request another by media.create.")
            }
            guard let file = state.file, sync(file), mark(marker, in: marker.removingLastComponent()) else {
                throw MediaError("This upload URL was already used, or the picture cannot be written.")
            }
            guard link(path, destination) else {
                // Nothing is stored, so the URL can be used again.
                remove(marker)
                throw MediaError("The picture cannot be written.")
            }
        }
    }

    /// The average of the last seconds; nil before.
    var bytesPerSecond: Double? { rate.withLock { [now] in $0.bytesPerSecond(now: now()) } }

    /// The reason for which the server ended the upload, as a sentence; nil if it did not.
    package var refusal: String? {
        isDisplaced.load(ordering: .acquiring)
            ? "The upload was slow and the server is busy with others. Send it again later." : nil
    }

    /// Ends the upload, whose place another client takes.
    func displace() {
        isDisplaced.store(true, ordering: .releasing)
        discard()
    }

    /// Removes the partial upload.
    package func discard() {
        let isFirst = state.withLock { state in
            let isFirst = !state.hasEnded
            state.hasEnded = true
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
