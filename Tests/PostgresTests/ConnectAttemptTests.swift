import Foundations
import BoundedWait
import Testing

@testable import Postgres

@Suite struct ConnectAttemptTests {
    @Test("times out on a server that accepts without responding")
    func silentServer() async throws {
        let server = try SilentServer()
        var options = ConnectionOptions()
        options.connectTimeout = .milliseconds(300)
        let clock = ContinuousClock()
        let duration = try await clock.measure {
            let error = try await postgresError {
                try await Connection.open("host=\(server.directory)", on: Reactor(name: "tests"), options: options)
            }
            guard case .connectFailed = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(duration >= .milliseconds(300) && duration < .seconds(60))
    }

    #if os(Linux)
    // Other systems refuse connections to a full queue.
    @Test("waits for a full Unix socket queue up to the timeout")
    func fullQueue() async throws {
        let server = try SilentServer(backlog: 0)
        var options = ConnectionOptions()
        options.connectTimeout = .milliseconds(300)
        try await server.withFullQueue { accept in
            let duration = try await ContinuousClock().measure {
                let error = try await postgresError {
                    try await Connection.open("host=\(server.directory)", on: Reactor(name: "tests"), options: options)
                }
                guard case .connectFailed = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
            #expect(duration >= .milliseconds(300))

            options.connectTimeout = .seconds(600)
            let task = Task { [options] in
                try await Connection.open("host=\(server.directory)", on: Reactor(name: "tests"), options: options)
            }
            // The connections that filled the queue, then the one that waited.
            accept()
            try await server.awaitConnection()
            task.cancel()
            _ = try await postgresError { try await task.value }
        }
    }
    #endif

    @Test("ends a cancelled attempt at once")
    func cancellation() async throws {
        let server = try SilentServer()
        let clock = ContinuousClock()
        let duration = try await clock.measure {
            let task = Task { try await Connection.open("host=\(server.directory)", on: Reactor(name: "tests")) }
            try await server.awaitConnection()
            task.cancel()
            let error = try await postgresError { try await task.value }
            guard case .cancelled = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(duration < .seconds(60))
    }
}

/// A Unix socket, named like PostgreSQL's, that accepts connections and never responds.
final class SilentServer: Sendable {
    let directory: String
    private let descriptor: Int32

    init(backlog: Int32 = 8) throws {
        directory = try TestDirectory.make()
        descriptor = Self.makeSocket()
        let bound = unsafe Self.withAddress(in: directory) { unsafe bind(descriptor, $0, $1) }
        try #require(bound == 0 && listen(descriptor, backlog) == 0)
    }

    private static func makeSocket() -> Int32 {
        #if canImport(Glibc)
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
        socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
    }

    private static func withAddress(
        in directory: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(directory)/.s.PGSQL.5432"
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (place, byte) in path.utf8.enumerated() { unsafe bytes[place] = byte }
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    deinit {
        close(descriptor)
        TestDirectory.remove(directory, ".s.PGSQL.5432")
    }

    /// Fills the queue with connections, which are accepted when `body` calls `accept`.
    func withFullQueue(_ body: (_ accept: () -> Void) async throws -> Void) async throws {
        var guests: [Int32] = []
        defer { for guest in guests { close(guest) } }
        while true {
            let guest = Self.makeSocket()
            guests.append(guest)
            _ = fcntl(guest, F_SETFL, O_NONBLOCK)
            guard unsafe Self.withAddress(in: directory, { unsafe connect(guest, $0, $1) }) == 0 else { break }
        }
        try #require(errno == EAGAIN)
        let count = guests.count - 1
        try await body { for _ in 0..<count { guests.append(accept(self.descriptor, nil, nil)) } }
    }

    /// Waits for a connection.
    func awaitConnection() async throws {
        try await eventually("a connection") {
            var listening = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&listening, 1, 0) == 1
        }
    }
}

/// Directories for sockets, with short paths as required by `sockaddr_un`.
enum TestDirectory {
    static func make() throws -> String {
        var template = Array("/tmp/pgtestXXXXXX".utf8CString)
        // A non-empty buffer has an address.
        // swift-format-ignore: NeverForceUnwrap
        let isMade = unsafe template.withUnsafeMutableBufferPointer { unsafe mkdtemp($0.baseAddress!) != nil }
        try #require(isMade)
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ directory: String, _ file: String) {
        unsafe unlink("\(directory)/\(file)")
        unsafe rmdir(directory)
    }
}
