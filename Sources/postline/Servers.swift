internal import Gateway
internal import LineServer
internal import ServiceLifecycle

/// What clients connect to: it starts, and is told to stop, as one.
struct Servers: Service {
    /// Where their ports were given.
    let settings: Settings

    let lines: LineServer

    /// Nil where HTTP is not served.
    let gateway: Gateway?

    /// - Throws: `StartError` where one of them cannot listen.
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
            // What cannot listen ends the other too, and is told at once.
            for try await _ in group {}
        }
    }
}
