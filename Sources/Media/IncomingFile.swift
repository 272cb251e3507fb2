import FoundationEssentials
import Foundations
package import Messaging
package import NIOCore
import Synchronization
import SystemPackage

/// An upload to a folder, or one part of it. The file exists only once it is complete and as declared, and has no metadata.
///
/// The part that has arrived of a file that is stored unchanged stays when the upload is interrupted, so that another
/// request can continue: the length of the partial file is the place to continue. A lock on it keeps other nodes from
/// writing too.
///
/// The methods block on the disk and must be called one after another.
package final class IncomingFile: Sendable {
    private struct State {
        var file: SystemPackage.FileDescriptor?

        /// The bytes that have arrived, those of earlier requests included.
        var received: Int
        var firstBytes: [UInt8] = []
        var eraser: MetadataEraser
        var written: Int
        /// The error of a damaged picture. Nothing of it is written from then on.
        var damage: PictureDamage?

        /// True if the partial file is of use to a later request.
        var isKept: Bool
        var hasEnded = false
    }

    /// The result of a request.
    package enum Outcome: Sendable, Equatable {
        /// The file is stored.
        case stored
        /// This many bytes have arrived.
        case partial(Int)
    }

    package let media: MediaFile
    private let path: FilePath
    private let destination: FilePath
    private let marker: FilePath
    private let end: Int
    private let expires: Date
    private let onEnd: @Sendable () -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// Apart from the state, which is locked while the disk is written.
    private let rate: Mutex<UploadRate>
    private let isDisplaced = Atomic(false)
    private let completion = Atomic(false)

    /// - Parameters:
    ///   - file: the locked partial file of an upload that can be resumed; nil to create the file at the first byte.
    ///   - part: the bytes of the file that this request brings.
    ///   - marker: the empty file that marks the address as used, also once the file is removed.
    ///   - expires: the expiry of the address.
    ///   - onEnd: called once, at the end of the upload.
    init(
        _ media: MediaFile, _ part: Range<Int>, at path: FilePath, file: SystemPackage.FileDescriptor?,
        destination: String, marker: String, expires: Date, now: @escaping @Sendable () -> ContinuousClock.Instant,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.media = media
        self.path = path
        self.destination = FilePath(destination)
        self.marker = FilePath(marker)
        self.expires = expires
        self.onEnd = onEnd
        self.now = now
        end = part.upperBound
        state = Mutex(
            State(
                file: file, received: part.lowerBound, eraser: MetadataEraser(media.type), written: part.lowerBound,
                isKept: file != nil))
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
            guard state.received <= end else {
                throw MediaError("The file has more than the declared \(media.bytes) bytes.")
            }
            if state.received == end { completion.store(true, ordering: .releasing) }
            let missing = MediaType.signatureLength - state.firstBytes.count
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
            throw MediaError("The file cannot be written: \(error)")
        }
    }

    /// Ends a request. If the file is complete, checks it against the promise and moves it to its place on disk.
    ///
    /// - Throws: `MediaError` if it differs or already exists.
    @discardableResult
    package func finish() throws -> Outcome {
        defer { discard() }
        return try state.withLock { state in
            if state.hasEnded { throw MediaError(refusal ?? "The upload has already ended.") }
            guard state.received == end else {
                throw MediaError("The file has \(state.received) bytes instead of the declared \(end).")
            }
            guard end == media.bytes else { return .partial(end) }
            // Whatever is wrong with a complete file, it cannot be continued.
            let isContinued = state.isKept
            state.isKept = false
            if isContinued, let file = state.file { state.firstBytes = try Self.firstBytes(of: file) }
            guard media.type.matches(firstBytes: state.firstBytes) else {
                throw MediaError("The file is not \(media.type.rawValue) by its first bytes.")
            }
            if let damage = state.damage { throw MediaError("The file is damaged: \(damage).") }
            var output = ByteBuffer()
            state.eraser.finish(into: &output)
            try write(output, &state)
            guard Date() < expires else {
                throw MediaError("This upload URL has expired. Request another by media.create.")
            }
            guard let file = state.file, sync(file), mark(marker, in: marker.removingLastComponent()) else {
                throw MediaError("This upload URL was already used, or the file cannot be written.")
            }
            guard link(path, destination) else {
                // Nothing is stored, so the URL can be used again.
                remove(marker)
                throw MediaError("The file cannot be written.")
            }
            return .stored
        }
    }

    private static func firstBytes(of file: SystemPackage.FileDescriptor) throws -> [UInt8] {
        do {
            return try unsafe [UInt8](unsafeUninitializedCapacity: MediaType.signatureLength) { buffer, count in
                count = try unsafe file.read(fromAbsoluteOffset: 0, into: UnsafeMutableRawBufferPointer(buffer))
            }
        } catch {
            throw MediaError("The file cannot be read: \(error)")
        }
    }

    /// The average of the last seconds; nil before.
    var bytesPerSecond: Double? { rate.withLock { [now] in $0.bytesPerSecond(now: now()) } }

    /// The reason for which the server ended the upload, as a sentence; nil if it did not.
    package var refusal: String? {
        isDisplaced.load(ordering: .acquiring)
            ? "The server ended the upload: it was slow and others needed its place, or the client began to continue it. "
                + "Ask by HEAD how much has arrived." : nil
    }

    /// Ends the upload, in whose place another continues.
    func displace() {
        isDisplaced.store(true, ordering: .releasing)
        discard()
    }

    /// True if all bytes have arrived. The node takes the rest of the time, so another upload must not end this one.
    var isComplete: Bool { completion.load(ordering: .acquiring) }

    /// True if bytes are missing and none has arrived for some seconds: the client may be gone.
    var isStalled: Bool { !isComplete && rate.withLock { [now] in $0.isStalled(now: now()) } }

    /// Ends the upload. Keeps the partial file if another request can continue, or else removes it.
    package func discard() {
        let isFirst = state.withLock { state in
            let isFirst = !state.hasEnded
            state.hasEnded = true
            if let file = state.file {
                state.file = nil
                // Before the lock on it ends.
                if !state.isKept { remove(path) }
                unlockAndClose(file)
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
            throw MediaError("The file cannot be written: \(error)")
        }
    }
}
