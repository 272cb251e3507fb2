/// An error of a private PostgreSQL, as a sentence that says what to do.
package enum PrivatePostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No PostgreSQL server programs were found; `found` names what was too old.
    case notInstalled(found: [String])
    /// Another process holds this directory's lock.
    case inUse(directory: String, process: String)
    /// A PostgreSQL that this process did not start, and may not stop, runs on the data.
    case foreignServer(directory: String, process: Int32)
    /// The data belongs to another major version than the installed one.
    case otherMajorVersion(directory: String, data: String, installed: Int)
    /// The directory contains something other than a database cluster.
    case notData(directory: String)
    /// The directory cannot be created or used; `reason` is the system's message.
    case unusable(directory: String, reason: String)
    /// A program of PostgreSQL failed; `output` is the end of its output.
    case failed(program: String, output: String)

    /// The advice if something else runs on the directory.
    private static let anotherWorld =
        "Stop it, or name another directory and ports, such as "
        + "--directory .postline-2 --port 7532 --http-port 7533 --operations-port 7580."

    /// The error as one or two sentences.
    package var description: String {
        switch self {
        case .notInstalled(let found):
            let old = found.isEmpty ? "" : " (\(found.joined(separator: ", ")) is too old)"
            return "PostgreSQL \(PostgresInstallation.oldestMajorVersion) or later is not installed\(old). "
                + "Install it with `apt-get install postgresql` (Debian, Ubuntu) "
                + "or `brew install postgresql` (macOS) and try again."
        case .inUse(let directory, let process):
            return "Another postline\(process.isEmpty ? "" : " (process \(process))") already runs on \(directory). "
                + Self.anotherWorld
        case .foreignServer(let directory, let process):
            return "A PostgreSQL that another user started (process \(process)) runs on \(directory). "
                + Self.anotherWorld
        case .otherMajorVersion(let directory, let data, let installed):
            return
                "The data in \(directory) was made by PostgreSQL \(data), and only PostgreSQL \(installed) is installed. "
                + "Install PostgreSQL \(data), or remove \(directory) to begin anew."
        case .notData(let directory):
            return "\(directory) is not empty and holds no PostgreSQL data. Name another directory, or empty it."
        case .unusable(let directory, let reason):
            return "The directory \(directory) cannot be used: \(reason)."
        case .failed(let program, let output):
            return "\(program) failed: \(output)"
        }
    }
}
