public import Logging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How many descriptors, and so connections, this process may have open (`getrlimit(2)`).
public enum DescriptorLimit {
    /// For PostgreSQL, files and threads, beside the clients' connections.
    private static let reserve = 200

    /// Raises the limit as far as the system lets us: by default it is far below what a server needs. Where that is not
    /// enough for as many clients as there may be, it is said.
    public static func raise(forConnections connections: Int, logger: Logger) {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        let wanted = rlim_t(connections + reserve)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(limit.rlim_max, wanted)
            _ = unsafe setrlimit(resource, &limit)
        }
        if limit.rlim_cur < rlim_t(connections) {
            logger.warning(
                "the system allows fewer open files than POSTLINE_MAX_CONNECTIONS needs; those beyond are turned away",
                metadata: ["allowed": "\(limit.rlim_cur)", "needed": "\(connections)"])
        }
    }
}
