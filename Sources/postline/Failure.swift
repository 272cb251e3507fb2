internal import ArgumentParser
internal import Messaging
internal import Postgres
internal import PrivatePostgres
internal import SystemPackage

/// Says on standard error, in one sentence, why a command ends, and ends it with a status that scripts can read.
enum Failure {
    /// sysexits.h: something is wrong with the configuration, and trying again does not help.
    static let configuration = ExitCode(78)

    /// Runs a command's body; what it throws becomes a sentence and an exit code.
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
        // With standard error closed there is nobody to tell; the exit code is still right.
        _ = try? FileDescriptor.standardError.writeAll("postline: \(sentence)\n".utf8)
        return code
    }
}
