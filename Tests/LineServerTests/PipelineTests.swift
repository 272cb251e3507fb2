import ChangeFeed
import NIOCore
import Testing
@testable import WireProtocol

@testable import LineServer

/// Serialized, since the memory of the process is measured.
@Suite("Pipelining limits", .serialized, .timeLimit(.minutes(10)))
struct PipelineTests {
    /// The limit of memory for one connection, in bytes.
    static let bound = 1 << 20

    /// Returns at least 64 KiB of lines of about that size.
    func lines(of bytes: Int) -> ByteBuffer {
        let shortest = request(1, "echo", #"{"a":""}"#).utf8.count
        let padding = String(repeating: "x", count: max(0, bytes - shortest))
        let line = request(1, "echo", #"{"a":"\#(padding)"}"#) + "\n"
        return ByteBuffer(string: String(repeating: line, count: 65_536 / line.utf8.count + 1))
    }

    /// Sends 50 MB, or as much as the server reads.
    func flood(_ client: TestClient, _ lines: ByteBuffer) async {
        var sent = 0
        while sent < 50 << 20, (try? await client.send(lines)) != nil { sent += lines.readableBytes }
    }

    @Test(
        "row 54: an unread pipeline holds less than 1 MiB",
        arguments: [100, 4_000, 60_000])
    func notReading(_ bytes: Int) async throws {
        let text = String(repeating: "y", count: 50_000)
        let lines = self.lines(of: bytes)
        try await withServer(.test()) { _, _ in
            .result(.string(text))
        } test: { server in
            let other = try await server.connect()
            _ = try await server.sessions.next()
            for id in 0..<500 { #expect(try await other.call(request(id)) == answer(id, "\"\(text)\"")) }
            var clients: [TestClient] = []
            var sessions: [StubSession] = []
            for _ in 0..<8 {
                clients.append(try await TestClient(server.address, receiveBufferBytes: 65_536))
                sessions.append(try await server.sessions.next())
            }
            let before = residentBytes()
            await withTaskGroup { group in
                for client in clients { group.addTask { await self.flood(client, lines) } }
                var done = -1
                while case let now = sessions.reduce(0, { $0 + $1.requests.count }), now != done {
                    done = now
                    for id in 0..<200 { _ = try? await other.call(request(id)) }
                }
                for session in sessions {
                    let held = try? await session.onLoop { $0.state.lines.heldBytes }
                    #expect((held ?? nil ?? .max) < Self.bound)
                    let waiting = try? await session.onLoop { $0.state.queue.waitingBytes }
                    #expect((waiting ?? nil ?? .max) < 65_536 + 100_000)
                }
                if let before, let after = residentBytes() {
                    #expect(after - before < clients.count * Self.bound, "\(bytes)")
                }
                for client in clients { try? await client.close() }
            }
            for session in sessions { try await session.closed.value() }
            if let before, let after = residentBytes() { #expect(after - before < clients.count * Self.bound) }
        }
    }

    @Test(
        "row 54: a pipeline faster than its requests holds less than 1 MiB",
        arguments: [100, 4_000, 60_000])
    func faster(_ bytes: Int) async throws {
        let lines = self.lines(of: bytes)
        let requests = bytes > 10_000 ? 300 : 3_000
        let isDone = AsyncPromise<Void>()
        try await withServer(.test()) { _, session in
            // More than is read meanwhile.
            for _ in 0..<5 { await Task.yield() }
            if let lines = (session.sink as? ConnectionSink)?.connection?.state.lines,
                lines.heldBytes >= Self.bound || lines.waitingCount > 200
            {
                Issue.record("\(lines.heldBytes) bytes are held, of \(lines.waitingCount) lines")
            }
            if session.requests.count == requests { isDone.succeed(()) }
            return .result(.object([:]))
        } test: { server in
            let client = try await server.connect()
            let before = residentBytes()
            try await withThrowingTaskGroup { group in
                group.addTask { await self.flood(client, lines) }
                group.addTask { while try await client.line() != nil {} }
                try await isDone.value()
                if let before, let after = residentBytes() { #expect(after - before < 8 << 20) }
                try await client.close()
                group.cancelAll()
            }
        }
    }

    @Test("a short line does not retain a larger read", arguments: [1, 40])
    func storage(_ count: Int) async throws {
        var framer = LineFramer(maxLineBytes: 65_536)
        var bytes = ByteBuffer()
        bytes.reserveCapacity(65_536)
        bytes.writeString(String(repeating: "x\n", count: count))
        framer.feed(bytes)
        var lines: [ByteBuffer] = []
        while case .line(let line)? = framer.next() { lines.append(line) }
        #expect(lines.count == count)
        for line in lines { #expect(line.storageCapacity < 200) }
        #expect(framer.heldBytes == 0)
    }

    @Test("counts shared storage once, with its last line")
    func counting() async throws {
        var framer = LineFramer(maxLineBytes: 65_536)
        framer.feed(ByteBuffer(string: "\n" + String(repeating: "x", count: 4_000) + "\ny\nbeginning"))
        let storage = framer.heldBytes
        #expect(storage >= 4_000)
        _ = framer.next()
        _ = framer.next()
        #expect(framer.takeReleasedBytes() == 0)
        #expect(framer.heldBytes == storage)
        #expect(framer.next() == nil)
        #expect(framer.takeReleasedBytes() == storage)
        #expect(framer.takeReleasedBytes() == 0)
        #expect(framer.heldBytes < 100)
    }
}
