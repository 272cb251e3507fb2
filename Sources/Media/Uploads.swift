import Foundations
import Synchronization

/// The running uploads of a node: one per upload address, and all within a limit of which a client's address may use a
/// quarter.
final class Uploads: Sendable {
    private struct State {
        var ids: Set<ID> = []
        var bytes = 0
        var bytesByClient: [AddressKey: Int] = [:]
    }

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// The bytes of running uploads, by their declared sizes.
    var bytes: Int { state.withLock(\.bytes) }

    /// - Throws: `UploadRefusal` if the picture is already being uploaded, or the limit is reached.
    func begin(_ id: ID, bytes: Int, from client: AddressKey) throws(UploadRefusal) {
        try state.withLock { state throws(UploadRefusal) in
            guard !state.ids.contains(id) else { throw .inProgress }
            let held = state.bytesByClient[client] ?? 0
            // One picture per client is accepted regardless of its size.
            guard held == 0 || bytes <= maxBytes / 4 - held else { throw .addressBusy }
            guard bytes <= maxBytes - state.bytes else { throw .busy }
            state.ids.insert(id)
            state.bytes += bytes
            state.bytesByClient[client] = held + bytes
        }
    }

    func end(_ id: ID, bytes: Int, from client: AddressKey) {
        state.withLock { state in
            state.ids.remove(id)
            state.bytes -= bytes
            let left = (state.bytesByClient[client] ?? 0) - bytes
            state.bytesByClient[client] = left > 0 ? left : nil
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
