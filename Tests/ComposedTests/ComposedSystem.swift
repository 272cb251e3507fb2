import BoundedWait
import FoundationEssentials
import Postgres

/// The addresses of the composed system.
struct ComposedSystem: Sendable {
    struct Address: Sendable, CustomStringConvertible {
        let host: String
        let port: Int

        var description: String { "\(host):\(port)" }

        init?(_ text: some StringProtocol) {
            let parts = text.split(separator: ":")
            guard parts.count == 2, let port = Int(parts[1]) else { return nil }
            self.host = String(parts[0])
            self.port = port
        }
    }

    /// The balancer's port.
    let lines: Address

    /// The same port through another network, so that the balancer sees another client address.
    let linesElsewhere: Address

    /// The balancer's port for HTTP.
    let http: Address

    /// The operations port of each node.
    let nodes: [Address]

    /// The database URL of the owner.
    let databaseURL: String

    private static let reactor = Reactor(name: "composed")

    /// Reads the addresses from the environment.
    ///
    /// - Throws: `CheckFailure` that names a missing variable.
    static func fromEnvironment() throws -> ComposedSystem {
        func value(_ name: String) throws -> String {
            guard let value = ProcessInfo.processInfo.environment["POSTLINE_COMPOSED_\(name)"] else {
                throw CheckFailure(
                    description: "POSTLINE_COMPOSED_\(name) is not set: run this with `docker compose run --rm tests`.")
            }
            return value
        }
        func addresses(_ name: String) throws -> [Address] {
            try value(name).split(separator: ",").map {
                guard let address = Address($0) else {
                    throw CheckFailure(description: "POSTLINE_COMPOSED_\(name) is not HOST:PORT: \($0)")
                }
                return address
            }
        }
        func address(_ name: String) throws -> Address {
            guard let address = try addresses(name).first else {
                throw CheckFailure(description: "POSTLINE_COMPOSED_\(name) is empty.")
            }
            return address
        }
        return ComposedSystem(
            lines: try address("LINES"), linesElsewhere: try address("LINES_ELSEWHERE"), http: try address("HTTP"),
            nodes: try addresses("NODES"), databaseURL: try value("DATABASE_URL"))
    }

    /// Runs SQL as the owner, like `psql`, and returns the rows. No node is notified by the caller.
    @discardableResult
    func sql(_ text: String) async throws -> [String] {
        let connection = try await Connection.open(databaseURL, on: Self.reactor)
        do {
            let rows = try await connection.execute(text, deadline: watchdogLimit).last
            await connection.close()
            return (0..<(rows?.count ?? 0)).compactMap { rows?.text($0, 0) }
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Returns a metric of each node, summed over its series.
    ///
    /// - Parameter label: Only series with this label, such as `method="me.get"`.
    func values(_ name: String, _ label: String = "") async throws -> [Double] {
        var values: [Double] = []
        for node in nodes {
            let lines = try await HTTPResponse.get("/metrics", of: node).body.split(separator: "\n")
            let series = lines.filter {
                ($0.hasPrefix(name + " ") || $0.hasPrefix(name + "{")) && (label.isEmpty || $0.contains(label))
            }
            values.append(series.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +))
        }
        return values
    }

    /// Waits until every node can serve clients.
    func waitUntilReady() async throws {
        for node in nodes {
            try await eventually("\(node) to be ready") {
                try await HTTPResponse.get("/readyz", of: node).status == 200
            }
        }
    }
}
