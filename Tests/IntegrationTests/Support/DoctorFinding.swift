import LineClient
import Testing
import WireProtocol

/// A line of `postline doctor --json`.
struct DoctorFinding {
    let level: String
    let check: String
    let message: String
    let advice: String

    private init(line: Substring) throws {
        let json = try JSON(parsing: String(line))
        level = try #require(json["level"]?.stringValue)
        check = try #require(json["check"]?.stringValue)
        message = try #require(json["message"]?.stringValue)
        advice = try #require(json["advice"]?.stringValue)
    }

    /// Runs doctor, and returns its findings.
    ///
    /// - Parameter exit: The expected exit code, or nil for any.
    static func all(
        _ environment: [String: String], _ arguments: [String] = [], exit: Int32? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [DoctorFinding] {
        let result = try await Command.run(["doctor", "--json"] + arguments, environment: environment)
        if let exit {
            #expect(result.status == exit, "\(result.output)\(result.errors)", sourceLocation: sourceLocation)
        }
        return try result.output.split(separator: "\n").map { try DoctorFinding(line: $0) }
    }

    /// The settings that let doctor examine a database.
    static func environment(_ database: TestDatabase) -> [String: String] {
        [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
            "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
        ]
    }
}
