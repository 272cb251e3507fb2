import BoundedWait
import Foundation
import Synchronization

/// A child process with pipes, by default the built `postline`.
final class Command: Sendable {
    private struct State: Sendable {
        var output = ""
        var errors = ""

        /// The number of pipes that are still open.
        var open = 2

        /// The exit status, or the negative signal that ended the process.
        var status: Int32?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let processID: Int32
    private let input: FileHandle
    private let state = Mutex(State())

    /// Readable once the process has ended.
    private let end = Pipe()

    /// Starts the process with the minimal environment, without variables of Postline.
    ///
    /// - Parameters:
    ///   - program: The path of another program.
    ///   - openFiles: The limit of descriptors, or nil for the inherited one.
    ///   - fileBytes: The size at which writes to a file fail, as on a full disk.
    init(
        _ arguments: [String], of program: String? = nil, environment: [String: String] = [:], openFiles: Int? = nil,
        fileBytes: Int? = nil
    ) throws {
        let process = Process()
        let program = try program.map { URL(filePath: $0) } ?? Self.executable()
        let limits = [
            openFiles.map { "ulimit -n \($0)" },
            // In blocks of 512 bytes. Without the trap the signal would end the process instead of failing the write.
            fileBytes.map { "trap '' XFSZ; ulimit -f \($0 / 512)" },
        ].compactMap(\.self)
        if !limits.isEmpty {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments =
                ["-c", (limits + ["exec \"$0\" \"$@\""]).joined(separator: "; "), program.path] + arguments
        } else {
            process.executableURL = program
            process.arguments = arguments
        }
        // A chat stores its data in its own directory, which is removed with it.
        let home = FileManager.default.temporaryDirectory.appending(path: "postline-home-\(UUID().uuidString)")
        process.environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH"].contains($0.key) }
            // Many run at once.
            .merging([
                "POSTLINE_OPERATIONS_PORT": "0", "POSTLINE_HTTP_PORT": "0", "XDG_STATE_HOME": home.path,
            ]) { $1 }
            .merging(arguments.first == "dev" ? ["POSTLINE_PORT": "0"] : [:]) { $1 }
            .merging(arguments.first == "chat" ? ["TMPDIR": home.path] : [:]) { $1 }.merging(environment) { $1 }
        let (standardInput, standardOutput, standardError) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = standardOutput
        process.standardError = standardError
        input = standardInput.fileHandleForWriting
        let exited = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            exited.continuation.yield(
                process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            exited.continuation.finish()
        }
        try process.run()
        processID = process.processIdentifier
        Self.awaitEnd(of: processID, exited.continuation)
        follow(standardOutput.fileHandleForReading) { $0.output += $1 }
        follow(standardError.fileHandleForReading) { $0.errors += $1 }
        // This ends with the process, which every test ends.
        Task { [self] in
            for await status in exited.stream {
                try? FileManager.default.removeItem(at: home)
                change { $0.status = status }
                try? end.fileHandleForWriting.write(contentsOf: [0])
            }
        }
    }

    /// Yields the status of a process when it has ended, and leaves it to Foundation to reap it.
    ///
    /// Foundation learns of the end by a socket, which a process started at the same moment may hold open.
    private static func awaitEnd(of processID: Int32, _ exited: AsyncStream<Int32>.Continuation) {
        Thread.detachNewThread {
            var info = unsafe siginfo_t()
            repeat {
                if unsafe waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) == 0 {
                    #if os(Linux)
                    let status = unsafe info._sifields._sigchld.si_status
                    #else
                    let status = info.si_status
                    #endif
                    exited.yield(unsafe info.si_code == CLD_EXITED ? status : -status)
                    return exited.finish()
                }
                // Otherwise Foundation was first.
            } while errno == EINTR
        }
    }

    /// Reads until the process has ended and the pipe is empty.
    ///
    /// The end of the pipe may never come: a process started at the same moment may hold it open.
    private func follow(_ file: FileHandle, _ take: @escaping @Sendable (inout State, String) -> Void) {
        Thread.detachNewThread { [self] in
            while true {
                var polled = [file, end.fileHandleForReading].map {
                    pollfd(fd: $0.fileDescriptor, events: Int16(POLLIN), revents: 0)
                }
                // An interrupted call, such as by SIGCHLD, is repeated.
                guard unsafe poll(&polled, 2, -1) > 0 else { continue }
                if polled[0].revents != 0 {
                    let data = file.availableData
                    change { take(&$0, String(decoding: data, as: UTF8.self)) }
                    if !data.isEmpty { continue }
                }
                return change { $0.open -= 1 }
            }
        }
    }

    private func change(_ body: (inout sending State) -> Void) {
        let waiters = state.withLock { state in
            body(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension Command {
    /// All standard output so far.
    var output: String { state.withLock { $0.output } }

    /// All standard error so far.
    var errors: String { state.withLock { $0.errors } }

    /// Waits until standard output after `from` characters contains the text, and returns the output.
    @discardableResult
    func waitForOutput(_ text: String, from: Int = 0) async throws -> String {
        try await wait("“\(text)” on standard output") { state in
            state.output.dropFirst(from).contains(text) ? state.output : nil
        }
    }

    /// Waits until the mark follows the last occurrence of the text on standard output.
    func waitForOutput(_ text: String, then mark: String) async throws {
        _ = try await wait("“\(text)”, then “\(mark)” on standard output") { state in
            state.output.range(of: text, options: .backwards).flatMap {
                state.output[$0.upperBound...].contains(mark) ? true : nil
            }
        }
    }

    @discardableResult
    func waitForErrors(_ text: String) async throws -> String {
        try await wait("“\(text)” on standard error") { $0.errors.contains(text) ? $0.errors : nil }
    }

    /// Waits for the exit and all output. Returns the status, or the negative signal.
    func exit() async throws -> Int32 {
        try await wait("the process's end") { $0.open == 0 ? $0.status : nil }
    }

    private func wait<Value: Sendable>(
        _ what: String, _ find: @escaping @Sendable (State) -> Value?
    ) async throws -> Value {
        do {
            return try await within(what) { [self] in
                while true {
                    let (value, end) = state.withLock { (find($0), $0.open == 0 ? $0.status : nil) }
                    if let value { return value }
                    // An ended process writes nothing more.
                    if let end {
                        throw TimeoutError(description: "\(what) did not appear before the end, with status \(end)")
                    }
                    if Task.isCancelled { throw CancellationError() }
                    await withTaskCancellationHandler {
                        await withCheckedContinuation { waiter in
                            let isLate = state.withLock { state in
                                if find(state) != nil || Task.isCancelled { return true }
                                state.waiters.append(waiter)
                                return false
                            }
                            if isLate { waiter.resume() }
                        }
                    } onCancel: {
                        change { _ in }
                    }
                }
            }
        } catch let error as TimeoutError {
            throw TimeoutError(description: "\(error.description); output: \(output)\n\(errors)")
        }
    }
}

extension Command {
    func type(_ line: String) throws { try press(line + "\n") }

    /// Writes keys without a line end, like a terminal.
    func press(_ keys: String) throws { try input.write(contentsOf: Data(keys.utf8)) }

    func endInput() throws { try input.close() }

    func signal(_ signal: Int32) { kill(processID, signal) }

    /// Runs the program to its end, and returns the exit status and standard error.
    static func run(
        _ arguments: [String], of program: String? = nil, environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String, errors: String) {
        let command = try Command(arguments, of: program, environment: environment)
        defer { command.signal(SIGKILL) }
        let status = try await command.exit()
        return (status, command.output, command.errors)
    }

    /// Returns a program beside the test executable, or another build of `postline` if requested.
    static func executable(_ name: String = "postline") throws -> URL {
        if name == "postline", let other = ProcessInfo.processInfo.environment["POSTLINE_TEST_PROGRAM"] {
            return URL(fileURLWithPath: other)
        }
        var directory = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let candidate = directory.appending(path: name)
            if FileManager.default.isExecutableFile(atPath: candidate.path), !candidate.hasDirectoryPath {
                return candidate
            }
        }
        throw TimeoutError(description: "The program \(name) is missing beside the tests: build it with swift build.")
    }
}
