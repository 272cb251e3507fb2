import Foundations
import CPostgres

/// The servers of a connection string, one for each address of each host, in its order.
///
/// libpq tries the next server if one refuses, but waits for a silent one as long as its caller does. To give each its
/// share of the time, a silent server is removed from the list, and the others are tried again.
struct ServerList: Sendable {
    struct Server: Sendable, Equatable {
        var host: String
        var address: String
        var port: String
    }

    private(set) var servers: [Server]

    /// Resolves the host names, blocking the thread. A name that does not resolve stays, so that libpq reports it. A
    /// single host is left to libpq, unless it has several addresses.
    init(_ conninfo: Conninfo) {
        func list(_ keyword: String, _ variable: String) -> [String] {
            // The text is copied before the environment can change.
            let text = unsafe conninfo.value(of: keyword) ?? getenv(variable).map { unsafe String(cString: $0) }
            return text?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        let hosts = list("host", "PGHOST")
        let addresses = list("hostaddr", "PGHOSTADDR")
        let ports = list("port", "PGPORT")
        let count = max(hosts.count, addresses.count)
        // libpq reports lists that do not match.
        guard [0, 1, count].contains(ports.count), hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count
        else {
            servers = []
            return
        }
        servers = (0..<count).flatMap { place in
            let host = place < hosts.count ? hosts[place] : ""
            let port = ports.count > 1 ? (place < ports.count ? ports[place] : "") : ports.first ?? ""
            let address = place < addresses.count ? addresses[place] : ""
            guard address.isEmpty, !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@") else {
                return [Server(host: host, address: address, port: port)]
            }
            let resolved = Self.addresses(of: host)
            return resolved.isEmpty
                ? [Server(host: host, address: "", port: port)]
                : resolved.map { Server(host: host, address: $0, port: port) }
        }
    }

    /// The keywords for these servers, which replace those of the connection string; nil if the string names no server
    /// or one.
    var parameters: [(keyword: String, value: String)]? {
        guard servers.count > 1 || isReduced else { return nil }
        var parameters = [
            (keyword: "host", value: servers.map(\.host).joined(separator: ",")),
            (keyword: "port", value: servers.map(\.port).joined(separator: ",")),
        ]
        // A list of empty addresses is no list.
        if servers.contains(where: { !$0.address.isEmpty }) {
            parameters.append((keyword: "hostaddr", value: servers.map(\.address).joined(separator: ",")))
        }
        return parameters
    }

    private var isReduced = false

    /// Removes the silent server as libpq names it, or the first one if it names none.
    ///
    /// - Returns: false if no server is left.
    mutating func remove(_ silent: Server) -> Bool {
        let place =
            servers.firstIndex {
                ($0.address.isEmpty ? $0.host == silent.host : $0.address == silent.address)
                    && ($0.port.isEmpty || $0.port == silent.port)
            } ?? 0
        if servers.indices.contains(place) { servers.remove(at: place) }
        isReduced = true
        return !servers.isEmpty
    }

    /// Returns the addresses of a name in the system's preferred order; empty if it does not resolve.
    private static func addresses(of name: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        // We own the list until it is freed here, and each entry's address has the given length.
        guard unsafe getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [String] = []
        var next = unsafe first
        while let entry = unsafe next {
            let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
                let result = unsafe getnameinfo(
                    entry.pointee.ai_addr, entry.pointee.ai_addrlen, buffer.baseAddress, socklen_t(buffer.count), nil,
                    0, NI_NUMERICHOST)
                return unsafe result == 0 ? buffer.baseAddress.map { unsafe String(cString: $0) } : nil
            }
            if let text, !addresses.contains(text) { addresses.append(text) }
            unsafe next = entry.pointee.ai_next
        }
        return addresses
    }
}
