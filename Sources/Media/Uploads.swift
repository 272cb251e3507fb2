import Foundations
import Messaging
import Synchronization

/// The running uploads of a node: one per picture, and all within a limit of which a client's address may use a
/// quarter.
///
/// When the limit is reached, a client that uses less than the largest takes the place of the slowest upload of the
/// largest, unless that is its only one, or else of one that is too slow. So clients that send slowly cannot keep others
/// from uploading.
final class Uploads: Sendable {
    private struct Running {
        let client: AddressKey
        let bytes: Int
        weak var incoming: IncomingPicture?
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

    /// - Throws: `UploadRefusal` if the picture is already being uploaded, or the limit is reached.
    func begin(_ picture: Picture, from client: AddressKey) throws(UploadRefusal) {
        while let slowest = try tryBegin(picture, from: client) { slowest.displace() }
    }

    /// Begins an upload, or returns the one that must end before.
    private func tryBegin(_ picture: Picture, from client: AddressKey) throws(UploadRefusal) -> IncomingPicture? {
        try state.withLock { state throws(UploadRefusal) in
            guard state.running[picture.id] == nil else { throw .inProgress }
            let held = state.bytesByClient[client] ?? 0
            // One picture per client is accepted regardless of its size.
            guard held == 0 || picture.bytes <= maxBytes / 4 - held else { throw .addressBusy }
            guard picture.bytes <= maxBytes - state.bytes else {
                guard let incoming = Self.displaced(by: held + picture.bytes, in: state) else { throw .busy }
                return incoming
            }
            state.running[picture.id] = Running(client: client, bytes: picture.bytes)
            state.bytes += picture.bytes
            state.bytesByClient[client] = held + picture.bytes
            return nil
        }
    }

    /// Returns the upload whose place a client takes that then has `bytes` in progress; nil if there is none.
    private static func displaced(by bytes: Int, in state: State) -> IncomingPicture? {
        if let largest = state.bytesByClient.max(by: { $0.value < $1.value }), largest.value > bytes,
            let upload = slowest(state.running.values.filter { $0.client == largest.key }),
            upload.bytes < largest.value, let incoming = upload.incoming
        {
            return incoming
        }
        let slow = state.running.values.filter { ($0.incoming?.bytesPerSecond ?? minRate) < minRate }
        return slowest(slow)?.incoming
    }

    private static func slowest(_ uploads: [Running]) -> Running? {
        uploads.min { ($0.incoming?.bytesPerSecond ?? 0) < ($1.incoming?.bytesPerSecond ?? 0) }
    }

    /// Records the receiver of an upload that has begun.
    func setReceiver(_ incoming: IncomingPicture) {
        state.withLock { $0.running[incoming.picture.id]?.incoming = incoming }
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
        case .inProgress: "This picture is already being uploaded. Wait until the upload ends."
        case .addressBusy: "Too many pictures are being uploaded from your address now. Try again."
        case .busy: "Too many pictures are being uploaded now. Try again."
        case .diskFull: "The server's disk is almost full, so it accepts no pictures now. Try again later."
        }
    }
}
