import BoundedWait
import FoundationEssentials
import Postgres

/// The addresses of the composed system's parts.
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

    /// The same port by another network, so that the balancer sees another address come.
    let linesElsewhere: Address

    /// The balancer's port for HTTP.
    let http: Address

    /// Each node's operations port.
    let nodes: [Address]

    /// The database, as its owner.
    let databaseURL: String

    private static let reactor = Reactor(name: "composed")

    /// The one that the environment names.
    ///
    /// - Throws: `Broken`, with the variable that is missing.
    static func here() throws -> ComposedSystem {
        func value(_ name: String) throws -> String {
            guard let value = ProcessInfo.processInfo.environment["POSTLINE_COMPOSED_\(name)"] else {
                throw Broken(
                    description: "POSTLINE_COMPOSED_\(name) is not set: run this with `docker compose run --rm tests`.")
            }
            return value
        }
        func addresses(_ name: String) throws -> [Address] {
            try value(name).split(separator: ",").map {
                guard let address = Address($0) else {
                    throw Broken(description: "POSTLINE_COMPOSED_\(name) is not HOST:PORT: \($0)")
                }
                return address
            }
        }
        func address(_ name: String) throws -> Address {
            guard let address = try addresses(name).first else {
                throw Broken(description: "POSTLINE_COMPOSED_\(name) is empty.")
            }
            return address
        }
        return ComposedSystem(
            lines: try address("LINES"), linesElsewhere: try address("LINES_ELSEWHERE"), http: try address("HTTP"),
            nodes: try addresses("NODES"), databaseURL: try value("DATABASE_URL"))
    }

    /// The rows of a statement, as `psql` would run it: as the owner, and without a word to any node.
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

    /// A figure of each node, all its series added up.
    ///
    /// - Parameter label: only of those with that label: `method="me.get"`.
    func values(_ name: String, _ label: String = "") async throws -> [Double] {
        var values: [Double] = []
        for node in nodes {
            let lines = try await HTTPAnswer.get("/metrics", of: node).body.split(separator: "\n")
            let series = lines.filter {
                ($0.hasPrefix(name + " ") || $0.hasPrefix(name + "{")) && (label.isEmpty || $0.contains(label))
            }
            values.append(series.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +))
        }
        return values
    }

    /// Returns when every node can serve clients.
    func isReady() async throws {
        for node in nodes {
            try await eventually("\(node) to be ready") { try await HTTPAnswer.get("/readyz", of: node).status == 200 }
        }
    }
}
