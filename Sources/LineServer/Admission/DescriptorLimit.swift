import Foundations
package import Logging

/// The limit of open file descriptors, and so of connections, of this process (`getrlimit(2)`).
package enum DescriptorLimit {
    /// Descriptors for PostgreSQL, files and threads, beside client connections.
    private static let reserve = 200

    /// Raises the limit as far as the system permits, since the default is far below a server's needs. Logs a warning
    /// if it is still too low for `connections`.
    ///
    /// - Returns: the number of connections that the system permits, at most `connections`.
    @discardableResult
    package static func raise(forConnections connections: Int, logger: Logger) -> Int {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return connections }
        let wanted = rlim_t(connections + reserve)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(limit.rlim_max, wanted)
            _ = unsafe setrlimit(resource, &limit)
        }
        guard limit.rlim_cur < wanted else { return connections }
        if limit.rlim_cur < rlim_t(connections) {
            logger.warning(
                "the system allows fewer open files than POSTLINE_MAX_CONNECTIONS needs; those beyond are turned away",
                metadata: ["allowed": "\(limit.rlim_cur)", "needed": "\(connections)"])
        }
        // With fewer, the reserve would be most of them.
        return limit.rlim_cur > 2 * rlim_t(reserve) ? Int(limit.rlim_cur) - reserve : connections
    }
}
