#if canImport(Network)
import Foundation
import Network

extension Platform {
    /// Calls the body whenever the device gets or changes its network path, and once at the start if it has one
    /// (Network, `NWPathMonitor`).
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
        // A serial queue keeps the order of the updates.
        monitor.start(queue: DispatchQueue(label: "postline.network-path", qos: .utility))
    }

    deinit { monitor.cancel() }
}
#endif
