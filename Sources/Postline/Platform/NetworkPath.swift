#if canImport(Network)
import Foundation
import Network

extension Platform {
    /// Calls the body whenever the device gets a network path (Network, `NWPathMonitor`).
    ///
    /// - Returns: The observer. Releasing it ends the observation.
    static func onNetworkChange(_ body: @escaping @Sendable () -> Void) -> AnyObject? {
        PathObserver(body)
    }
}

private final class PathObserver {
    private let monitor = NWPathMonitor()

    init(_ body: @escaping @Sendable () -> Void) {
        monitor.pathUpdateHandler = { if $0.status == .satisfied { body() } }
        monitor.start(queue: .global(qos: .utility))
    }

    deinit { monitor.cancel() }
}
#endif
