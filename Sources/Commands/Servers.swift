import Gateway
import LineServer
import ServiceLifecycle

/// The servers that clients connect to, which start and stop as one service.
struct Servers: Service {
    /// The settings, for errors that name a port's setting.
    let settings: Settings

    let lines: LineServer

    /// The gateway, or nil if HTTP is off.
    let gateway: Gateway?

    /// - Throws: `StartError` if one of them cannot listen.
    func run() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                do {
                    try await lines.run()
                } catch let error as ListenError {
                    throw error.naming(host: "host", port: "port", in: settings)
                }
            }
            if let gateway {
                group.addTask {
                    do {
                        try await gateway.run()
                    } catch let error as ListenError {
                        throw error.naming(host: "http_host", port: "http_port", in: settings)
                    }
                }
            }
            // If one cannot listen, the other ends too, and the error is thrown at once.
            for try await _ in group {}
        }
    }
}
