import Testing

@testable import Postgres

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite struct ConnectAttemptTests {
    @Test("a server that accepts and says nothing is given up after the connect timeout")
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

    @Test("an attempt to connect that is cancelled ends at once")
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

/// A socket in a directory of its own, where PostgreSQL's would be.
final class SilentServer: Sendable {
    let directory: String
    private let descriptor: Int32

    init() throws {
        directory = try TestDirectory.make()
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(directory)/.s.PGSQL.5432"
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (place, byte) in path.utf8.enumerated() { unsafe bytes[place] = byte }
        }
        #if canImport(Glibc)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
        }
        try #require(bound == 0 && listen(descriptor, 8) == 0)
    }

    deinit {
        close(descriptor)
        TestDirectory.remove(directory, ".s.PGSQL.5432")
    }

    /// Waits for someone to connect.
    func awaitConnection() async throws {
        try await TestDatabase.eventually("someone connects") {
            var listening = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&listening, 1, 0) == 1
        }
    }
}

/// Directories for sockets, whose paths must be short.
enum TestDirectory {
    static func make() throws -> String {
        var template = Array("/tmp/pgtestXXXXXX".utf8CString)
        // A buffer that is not empty has an address.
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
