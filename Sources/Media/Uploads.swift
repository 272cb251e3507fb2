internal import Messaging
internal import Synchronization

/// The pictures that a node is receiving: one at a time by an upload address, and all of them within a bound, of which a
/// client's address has a quarter.
final class Uploads: Sendable {
    private struct State {
        var ids: Set<ID> = []
        var bytes = 0
        var bytesByClient: [AddressKey: Int] = [:]
    }

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// The number of bytes that are coming, as they were promised.
    var bytes: Int { state.withLock(\.bytes) }

    /// - Throws: `UploadRefusal` if the picture is coming already, or there is no room for it beside others.
    func begin(_ id: ID, bytes: Int, from client: AddressKey) throws(UploadRefusal) {
        try state.withLock { state throws(UploadRefusal) in
            guard !state.ids.contains(id) else { throw .isInProgress }
            let held = state.bytesByClient[client] ?? 0
            // One picture of a client is taken however large it is.
            guard held == 0 || bytes <= maxBytes / 4 - held else { throw .isAddressBusy }
            guard bytes <= maxBytes - state.bytes else { throw .isBusy }
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

/// Why a picture is not received at its address.
public enum UploadRefusal: Error, CustomStringConvertible, Equatable {
    /// The address was used.
    case isUsed
    /// The address is in use now.
    case isInProgress
    /// Too many bytes are coming at once from the client's address.
    case isAddressBusy
    /// Too many bytes are coming at once.
    case isBusy
    /// The disk has less free than it is to have.
    case isDiskFull

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .isUsed: "This address was used already: media.create gives another."
        case .isInProgress: "This picture is being uploaded now: wait until that has ended."
        case .isAddressBusy: "Too many pictures are being uploaded from your address now. Try again."
        case .isBusy: "Too many pictures are being uploaded now. Try again."
        case .isDiskFull: "The server's disk is almost full, so it takes no pictures now. Try again later."
        }
    }
}
