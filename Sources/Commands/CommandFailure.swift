import ArgumentParser
import Postgres
import PrivatePostgres
import Schema
import SystemPackage

/// Prints why a command failed as one sentence on standard error, and maps the error to an exit code.
enum CommandFailure {
    /// EX_CONFIG of sysexits.h: the configuration is invalid, and a retry would fail too.
    static let configuration = ExitCode(78)

    /// Runs a command's body, and turns its errors into a sentence and an exit code.
    static func reported(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SettingsError {
            throw say(error.description, configuration)
        } catch let error as MigrationError {
            switch error {
            case .edited, .obstructed: throw say(error.description, configuration)
            case .failed, .unreachable: throw say(error.description, .failure)
            }
        } catch let error as PrivatePostgresError {
            throw say("\(error)", .failure)
        } catch let error as PostgresError {
            throw say("The database refuses: \(error)", .failure)
        } catch let error as StartError {
            throw say("\(error)", .failure)
        }
    }

    static func say(_ sentence: String, _ code: ExitCode) -> ExitCode {
        // If standard error is closed, the exit code remains.
        _ = try? FileDescriptor.standardError.writeAll("postline: \(sentence)\n".utf8)
        return code
    }
}
