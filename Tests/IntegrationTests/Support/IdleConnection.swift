import Foundation

/// A plain socket that is connected to a node and idle, cheap enough for ten thousand.
struct IdleConnection: ~Copyable {
    private let descriptor: Int32

    /// Connects, and reads the first line.
    ///
    /// - Parameter hello: Receives the line without its end.
    init?(port: Int, hello: inout String) {
        descriptor = socket(AF_INET, Self.stream, 0)
        guard descriptor >= 0 else { return nil }
        // Assigned by field, so that it does not depend on the structure's layout.
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // The address lives until the call returns.
        let status = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var bytes = [UInt8](repeating: 0, count: 1_024)
        // The server writes first or closes, so the call returns.
        let count = status == 0 ? unsafe recv(descriptor, &bytes, bytes.count, 0) : 0
        hello = String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 0x0A }, as: UTF8.self)
        guard count > 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    #if canImport(Darwin)
    private static let stream = SOCK_STREAM
    #else
    /// A program that another test starts must not hold the connection open.
    private static let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #endif

    /// Raises the process's descriptor limit to the maximum.
    ///
    /// - Returns: The limit.
    static func raiseDescriptorLimit() -> Int {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
