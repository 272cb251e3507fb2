import Foundations
import Messaging
import Synchronization

/// The running uploads of a node: one per file, and all within a limit of which a client's address may use a
/// quarter.
///
/// When the limit is reached, a client that uses less than the largest takes the place of the slowest upload of the
/// largest, unless that is its only one, or else of one that is too slow. So clients that send slowly cannot keep others
/// from uploading.
final class Uploads: Sendable {
    private struct Running {
        let client: AddressKey
        let bytes: Int
        weak var incoming: IncomingFile?
    }

    private struct State {
        var running: [ID: Running] = [:]
        var bytes = 0
        var bytesByClient: [AddressKey: Int] = [:]
    }

    /// The rate below which an upload is too slow, in bytes per second.
    private static let minRate = 4_096.0

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// The bytes of running uploads, by their declared sizes.
    var bytes: Int { state.withLock(\.bytes) }

    /// Begins an upload. It replaces one of the same file of which nothing has arrived for some seconds, since a client
    /// that has lost its connection notices that before the node does.
    ///
    /// - Throws: `UploadRefusal` if the file is already being uploaded, or the limit is reached.
    func begin(_ media: MediaFile, from client: AddressKey) throws(UploadRefusal) {
        while let slowest = try tryBegin(media, from: client) { slowest.displace() }
    }

    /// Begins an upload, or returns the one that must end before.
    private func tryBegin(_ media: MediaFile, from client: AddressKey) throws(UploadRefusal) -> IncomingFile? {
        try state.withLock { state throws(UploadRefusal) in
            if let running = state.running[media.id] {
                guard let incoming = running.incoming, incoming.isStalled else { throw .inProgress }
                return incoming
            }
            let held = state.bytesByClient[client] ?? 0
            // One file per client is accepted regardless of its size.
            guard held == 0 || media.bytes <= maxBytes / 4 - held else { throw .addressBusy }
            guard media.bytes <= maxBytes - state.bytes else {
                guard let incoming = Self.displaced(by: held + media.bytes, in: state) else { throw .busy }
                return incoming
            }
            state.running[media.id] = Running(client: client, bytes: media.bytes)
            state.bytes += media.bytes
            state.bytesByClient[client] = held + media.bytes
            return nil
        }
    }

    /// Returns the upload whose place a client takes that then has `bytes` in progress; nil if there is none.
    private static func displaced(by bytes: Int, in state: State) -> IncomingFile? {
        let uploads = state.running.values.filter { $0.incoming?.isComplete != true }
        if let largest = state.bytesByClient.max(by: { $0.value < $1.value }), largest.value > bytes,
            let upload = slowest(uploads.filter { $0.client == largest.key }),
            upload.bytes < largest.value, let incoming = upload.incoming
        {
            return incoming
        }
        let slow = uploads.filter { ($0.incoming?.bytesPerSecond ?? minRate) < minRate }
        return slowest(slow)?.incoming
    }

    private static func slowest(_ uploads: [Running]) -> Running? {
        uploads.min { ($0.incoming?.bytesPerSecond ?? 0) < ($1.incoming?.bytesPerSecond ?? 0) }
    }

    /// Records the receiver of an upload that has begun.
    func setReceiver(_ incoming: IncomingFile) {
        state.withLock { $0.running[incoming.media.id]?.incoming = incoming }
    }

    /// Ends an upload of which bytes are missing, since the client that asks how many have arrived is to continue it.
    func interrupt(_ id: ID) {
        guard let incoming = state.withLock({ $0.running[id]?.incoming }), !incoming.isComplete else { return }
        incoming.displace()
    }

    func end(_ id: ID) {
        state.withLock { state in
            guard let ended = state.running.removeValue(forKey: id) else { return }
            state.bytes -= ended.bytes
            state.bytesByClient.subtract(ended.bytes, from: ended.client)
        }
    }
}

/// The reason why an upload is refused.
package enum UploadRefusal: Error, CustomStringConvertible, Equatable {
    /// The address was already used.
    case used
    /// The address is in use now.
    case inProgress
    /// The upload continues at another byte.
    case offset(Int)
    /// The client's address has too many bytes in progress.
    case addressBusy
    /// Too many bytes are in progress.
    case busy
    /// The disk has less free space than required.
    case diskFull

    /// The reason as a sentence.
    package var description: String {
        switch self {
        case .used: "This upload URL was already used. Request another by media.create."
        case .offset(let offset): "The upload continues at byte \(offset): ask by HEAD before you continue."
        case .inProgress: "This file is already being uploaded. Wait until the upload ends."
        case .addressBusy: "Too many files are being uploaded from your address now. Try again."
        case .busy: "Too many files are being uploaded now. Try again."
        case .diskFull: "The server's disk is almost full, so it accepts no files now. Try again later."
        }
    }
}
