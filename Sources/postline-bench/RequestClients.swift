import CClients
import Foundations
import NIOCore
import NIOPosix
import Concurrency

/// Clients that each send one request after another, on connections that one thread serves in C, as pgbench does, so
/// that both sides have equally cheap clients.
struct RequestClients: Sendable {
    private let sockets: [CInt]

    /// The text of each client, such as its conversation.
    private let texts: [String]

    var count: Int { sockets.count }

    /// Signs all clients in.
    static func connect(
        _ people: [(user: BenchWorld.User, text: String)], port: Int, group: MultiThreadedEventLoopGroup
    ) async throws -> RequestClients {
        var sockets: [CInt] = []
        for (user, _) in people {
            let method = #""method":"session.authenticate","params":{"access_token":"\#(user.accessToken)"}"#
            let socket = try await RawConnection.open(
                port: port, group: group, saying: #"{"jsonrpc":"2.0","id":0,\#(method)}"# + "\n",
                // The hello and the response.
                until: .lines(2)
            ) { $0 }
            sockets.append(socket)
        }
        return RequestClients(sockets: sockets, texts: people.map(\.text))
    }

    /// Closes all connections. No request may follow.
    func end() { for socket in sockets { close(socket) } }

    /// All clients send requests until the time is over.
    ///
    /// - Parameter write: writes the params of a request of the client with this text.
    /// - Throws: `BenchError` if a response is an error or takes half a minute.
    func ask(
        _ method: String, for time: Duration, _ write: @escaping @Sendable (String, inout ByteBuffer) -> Void
    ) async throws -> BenchRound {
        let start = ContinuousClock.now
        let result = await withSuspension { (done: CheckedContinuation<Result<[Duration], any Error>, Never>) in
            do {
                try DetachedThread.start(name: "requesters") { [self] in
                    done.resume(
                        returning: Result {
                            try run(Questions(texts: texts, method: method, write: write), for: time)
                        })
                }
            } catch {
                return .resume(.failure(error))
            }
            return .suspend
        }
        let latencies = try result.get()
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        return BenchRound(perSecond: Double(latencies.count) / elapsed, latencies: Percentiles(latencies))
    }

    /// Runs on the calling thread.
    private func run(_ questions: Questions, for time: Duration) throws(BenchError) -> [Duration] {
        var refusal = [CChar](repeating: 0, count: 512)
        // The requests outlive the call, which is their only use.
        let error = unsafe requesters_run(
            sockets, CInt(sockets.count), UInt64(time / .nanoseconds(1)),
            { owner, number, line, capacity in
                guard let owner = unsafe owner, let line = unsafe line else { return 0 }
                let questions = unsafe Unmanaged<Questions>.fromOpaque(owner).takeUnretainedValue()
                return unsafe questions.put(
                    Int(number), into: UnsafeMutableRawBufferPointer(start: line, count: capacity))
            },
            { owner, nanoseconds in
                guard let owner = unsafe owner else { return }
                let questions = unsafe Unmanaged<Questions>.fromOpaque(owner).takeUnretainedValue()
                questions.latencies.append(.nanoseconds(Int64(nanoseconds)))
            },
            Unmanaged.passUnretained(questions).toOpaque(), &refusal, refusal.count)
        return try withExtendedLifetime(questions) { () throws(BenchError) in
            switch error {
            case 0: return questions.latencies
            case EPROTO:
                throw BenchError(
                    String(decoding: refusal.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            case ETIMEDOUT: throw BenchError("A request was not answered within 30 seconds.")
            default: throw BenchError("A request was not answered (error \(error)).")
            }
        }
    }

    /// The requests, and the durations of the responses.
    private final class Questions {
        private let texts: [String]
        private let write: (String, inout ByteBuffer) -> Void
        private let start: String
        private var line = ByteBuffer()
        var latencies: [Duration] = []

        init(texts: [String], method: String, write: @escaping (String, inout ByteBuffer) -> Void) {
            self.texts = texts
            self.write = write
            start = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":"#
        }

        /// Writes the next request of that client, and returns its length in bytes, or 0 if there is no room.
        func put(_ number: Int, into memory: UnsafeMutableRawBufferPointer) -> Int {
            line.clear()
            line.writeString(start)
            write(texts[number], &line)
            line.writeStaticString("}\n")
            guard line.readableBytes <= memory.count else { return 0 }
            unsafe memory.copyBytes(from: line.readableBytesView)
            return line.readableBytes
        }
    }
}
