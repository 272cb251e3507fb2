import LineServer
import NIOCore
import NIOPosix

extension Settings {
    /// Checks that no other program uses the ports, before anything is made for them.
    ///
    /// - Throws: `StartError` that names each port in use.
    func requireFreePorts() async throws(StartError) {
        let places: [(name: String, host: String, port: Int?)] = [
            (name(of: "port"), lines.host, lines.port), (name(of: "http_port"), httpHost ?? lines.host, httpPort),
            (name(of: "operations_port"), operationsHost, operationsPort),
        ]
        var taken: [(name: String, error: ListenError)] = []
        for case let (name, host, port?) in places where port != 0 {
            do {
                let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .bind(host: host, port: port).get()
                try await channel.close()
            } catch {
                // The server reports other errors.
                let error = ListenError(host: host, port: port, error)
                if error.reason == .portInUse { taken.append((name, error)) }
            }
        }
        guard !taken.isEmpty else { return }
        let errors = taken.map(\.error.description).joined(separator: " ")
        let names = taken.map(\.name).joined(separator: ", ")
        throw StartError(
            description:
                "\(errors) Stop what listens there, or set \(names) to \(taken.count == 1 ? "another" : "others").")
    }
}
