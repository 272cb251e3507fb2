import CPostgres

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The servers that a connection string leads to, one for each address of each host, in its order.
///
/// libpq goes from one to the next where one refuses, but where one is silent it waits for as long as its caller does.
/// So that each has its share of the time, the one that is silent is taken from the list, and the others are tried again.
struct ServerList: Sendable {
    struct Server: Sendable, Equatable {
        var host: String
        var address: String
        var port: String
    }

    private(set) var servers: [Server]

    /// Resolves the names of a connection string's hosts, blocking the thread; a name that does not resolve stays as it
    /// is, for libpq to say so. One host is left to libpq altogether, unless its name has several addresses.
    init(_ conninfo: Conninfo) {
        func list(_ keyword: String, _ variable: String) -> [String] {
            // The text is copied before anything else can change the environment.
            let text = unsafe conninfo.value(of: keyword) ?? getenv(variable).map { unsafe String(cString: $0) }
            return text?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        let hosts = list("host", "PGHOST")
        let addresses = list("hostaddr", "PGHOSTADDR")
        let ports = list("port", "PGPORT")
        let count = max(hosts.count, addresses.count)
        // libpq says in which way the lists do not fit.
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

    /// The keywords that lead to these servers, in place of the connection string's own. A string that leads to one
    /// server, or names none, is left as it is.
    var parameters: [(keyword: String, value: String)]? {
        guard servers.count > 1 || isReduced else { return nil }
        var parameters = [
            (keyword: "host", value: servers.map(\.host).joined(separator: ",")),
            (keyword: "port", value: servers.map(\.port).joined(separator: ",")),
        ]
        // A list of nothing but empty addresses is no list.
        if servers.contains(where: { !$0.address.isEmpty }) {
            parameters.append((keyword: "hostaddr", value: servers.map(\.address).joined(separator: ",")))
        }
        return parameters
    }

    private var isReduced = false

    /// Takes out the server that is silent, as libpq names it, or the first where it names none of them.
    ///
    /// - Returns: false where none is left.
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

    /// The addresses of a name in the order of the system's preference; none where it does not resolve.
    private static func addresses(of name: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        // The list is ours until it is freed here, and each entry's address is as long as it says.
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
