import NIOCore
import NIOPosix

/// A failure to listen on the configured address.
package struct ListenError: Error, CustomStringConvertible {
    /// The cause, as far as the operator can act on it.
    package enum Reason: Sendable {
        case portInUse, portNeedsPrivileges, addressNotHere, hostUnknown, other
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let description: String

    package init(host: String, port: Int, _ error: any Error) {
        let place = "Cannot listen on \(host), port \(port)"
        (reason, description) =
            switch error {
            case let error as IOError:
                switch error.errnoCode {
                case addressInUse: (.portInUse, "\(place): the port is in use.")
                case permissionDenied: (.portNeedsPrivileges, "\(place): the port needs privileges.")
                case addressNotAvailable: (.addressNotHere, "\(place): this machine does not have that address.")
                default: (.other, "\(place): \(error).")
                }
            case is SocketAddressError.UnknownHost:
                (.hostUnknown, "Cannot listen on \(host): no address is found for that name.")
            default: (.other, "\(place): \(error).")
            }
    }

    /// Listens on an address for a moment.
    ///
    /// - Returns: The reason why a server cannot listen there, or nil if it can.
    package static func probe(host: String, port: Int) async -> ListenError? {
        do {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).get()
            try await channel.close()
            return nil
        } catch {
            return ListenError(host: host, port: port, error)
        }
    }
}
