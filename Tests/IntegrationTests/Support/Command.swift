import BoundedWait
import Foundation
import Synchronization

/// A program, the built `postline` unless said otherwise, run as a person runs it: a process of its own, with pipes for
/// its input and output.
final class Command: Sendable {
    private struct State: Sendable {
        var output = ""
        var errors = ""

        /// The number of outputs that are still open.
        var open = 2

        /// The exit status; negative for the signal that ended it.
        var status: Int32?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let processID: Int32
    private let input: FileHandle
    private let state = Mutex(State())

    /// Starts it. Of this process's environment it gets what every process needs, and nothing of Postline's.
    ///
    /// - Parameters:
    ///   - program: the path of another program than `postline`.
    ///   - openFiles: how many descriptors it may have at most; nil leaves that as it is.
    ///   - fileBytes: beyond so many bytes of a file a write of it fails, as on a disk that is full.
    init(
        _ arguments: [String], of program: String? = nil, environment: [String: String] = [:], openFiles: Int? = nil,
        fileBytes: Int? = nil
    ) throws {
        let process = Process()
        let program = try program.map { URL(filePath: $0) } ?? Self.executable()
        let limits = [
            openFiles.map { "ulimit -n \($0)" },
            // In blocks of 512 bytes. Without the trap the write would not fail, but end the process.
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
        // What a chat keeps is its own, and goes with it.
        let home = FileManager.default.temporaryDirectory.appending(path: "postline-home-\(UUID().uuidString)")
        process.environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH"].contains($0.key) }
            // Many run at once.
            .merging([
                "POSTLINE_OPERATIONS_PORT": "0", "POSTLINE_HTTP_PORT": "0", "XDG_STATE_HOME": home.path,
            ]) { $1 }
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
        follow(standardOutput.fileHandleForReading) { $0.output += $1 }
        follow(standardError.fileHandleForReading) { $0.errors += $1 }
        // Ends with the process, which every test ends.
        Task { [self] in
            for await status in exited.stream {
                try? FileManager.default.removeItem(at: home)
                change { $0.status = status }
            }
        }
    }

    /// Reads until the process has ended and nothing more is there.
    ///
    /// Not until the pipe's end: a process that was started at the same moment may hold the pipe open.
    private func follow(_ file: FileHandle, _ take: @escaping @Sendable (inout State, String) -> Void) {
        let descriptor = file.fileDescriptor
        Thread.detachNewThread { [self] in
            while true {
                let isOver = state.withLock { $0.status != nil }
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = unsafe poll(&polled, 1, 20)
                if ready > 0 {
                    let data = file.availableData
                    change { take(&$0, String(decoding: data, as: UTF8.self)) }
                    if !data.isEmpty { continue }
                } else if ready < 0 || !isOver {
                    // A signal, such as that of the process's own end, is no answer.
                    continue
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
    /// All that came out on standard output so far.
    var output: String { state.withLock { $0.output } }

    /// All that came out on standard error so far.
    var errors: String { state.withLock { $0.errors } }

    /// Returns when standard output holds the text behind `from` characters; what it holds then.
    @discardableResult
    func says(_ text: String, from: Int = 0) async throws -> String {
        try await wait("“\(text)” on standard output") { state in
            state.output.dropFirst(from).contains(text) ? state.output : nil
        }
    }

    /// Returns when standard output holds the mark behind where it last holds the text.
    func says(_ text: String, then mark: String) async throws {
        _ = try await wait("“\(text)”, then “\(mark)” on standard output") { state in
            state.output.range(of: text, options: .backwards).flatMap {
                state.output[$0.upperBound...].contains(mark) ? true : nil
            }
        }
    }

    @discardableResult
    func complains(_ text: String) async throws -> String {
        try await wait("“\(text)” on standard error") { $0.errors.contains(text) ? $0.errors : nil }
    }

    /// The exit status, once it has ended and all that it said is here; negative for the signal that ended it.
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
                    // Nothing comes of one that is over.
                    if let end { throw NotInTime(description: "\(what) did not come before its end, by \(end)") }
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
        } catch let error as NotInTime {
            throw NotInTime(description: "\(error.description); it said: \(output)\n\(errors)")
        }
    }
}

extension Command {
    func type(_ line: String) throws { try press(line + "\n") }

    /// Writes keys as a terminal sends them, without a line end.
    func press(_ keys: String) throws { try input.write(contentsOf: Data(keys.utf8)) }

    func endInput() throws { try input.close() }

    func signal(_ signal: Int32) { kill(processID, signal) }

    /// Runs it to its end: the exit status, and what it said on standard error.
    static func run(
        _ arguments: [String], of program: String? = nil, environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String, errors: String) {
        let command = try Command(arguments, of: program, environment: environment)
        defer { command.signal(SIGKILL) }
        let status = try await command.exit()
        return (status, command.output, command.errors)
    }

    /// A program beside this test's own executable; of `postline` another build may be asked for.
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
        throw NotInTime(description: "The program \(name) is not beside the tests: build it with swift build.")
    }
}
