#if canImport(Network)
import Foundation
import Network

extension Platform {
    /// Calls the body whenever the device has got a way to the network (Network, `NWPathMonitor`).
    ///
    /// - Returns: what watches; it ends with it.
    static func onNetworkChange(_ body: @escaping @Sendable () -> Void) -> AnyObject? {
        PathWatch(body)
    }
}

private final class PathWatch {
    private let monitor = NWPathMonitor()

    init(_ body: @escaping @Sendable () -> Void) {
        monitor.pathUpdateHandler = { if $0.status == .satisfied { body() } }
        monitor.start(queue: .global(qos: .utility))
    }

    deinit { monitor.cancel() }
}
#endif
