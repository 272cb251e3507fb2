import Foundations
import LineClient
import NIOCore
import PrivatePostgres
import WireProtocol

/// Uploads into the node's folder, compared with nginx and PUT, and many at once beside senders.
struct MediaBench {
    /// A set of equal files.
    struct Load {
        /// The beginning of the figures' names.
        let name: String
        let title: String
        let type: String
        let bytes: Int
        /// The uploads one after another in a round.
        let uploads: Int
        /// The uploads beside senders.
        let atOnce: Int

        static let pictures = Load(
            name: "upload", title: "pictures of 5 MB", type: "image/png", bytes: 5_000_000, uploads: 20, atOnce: 100)
        static let files = Load(
            name: "file_upload", title: "files of 100 MiB", type: "text/plain", bytes: 100 << 20, uploads: 3, atOnce: 2)
    }

    let load: Load
    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    private var content: ByteBuffer {
        if load.type != "image/png" { return ByteBuffer(repeating: 7, count: load.bytes) }
        var picture = ByteBuffer(bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        // One chunk of data, with its length and checksum.
        picture.writeInteger(UInt32(load.bytes - 20))
        picture.writeString("IDAT")
        picture.writeRepeatingByte(7, count: load.bytes - picture.readableBytes)
        return picture
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        var result: (table: [String], figures: [BenchResult])?
        let directory = "\(world.directory)/media"
        try BenchFiles.makeDirectory(directory)
        // The port is irrelevant: only the path of addresses is used.
        let settings = ["POSTLINE_MEDIA_DIR": directory, "POSTLINE_MEDIA_URL": "http://localhost"]
        try await BenchNode.run(on: world.postgres, secret: world.secret, environment: settings) { ports in
            try await NginxServer.run(in: directory) { nginx in
                result = try await run(ports, nginx: nginx)
            }
        }
        guard let result else { throw BenchError("Nothing was uploaded.") }
        return result
    }

    private func run(
        _ ports: BenchNode.Ports, nginx: Int
    ) async throws -> (table: [String], figures: [BenchResult]) {
        let clients = try await clients(port: ports.line)
        var (own, others): ([Double], [Double]) = ([], [])
        for round in 1...rounds {
            let targets = try await targets(load.uploads, clients)
            // Uploads are throttled while requests are served.
            try await Task.sleep(for: .milliseconds(200))
            let rate = try await megabytesPerSecond(targets, port: ports.http)
            let files = (0..<load.uploads).map { "/\(round)-\($0)" }
            let other = try await megabytesPerSecond(files, port: nginx)
            say("round \(round): \(Int(rate)) MB/s, nginx \(Int(other)) MB/s")
            own.append(rate)
            others.append(other)
            try await forget()
        }
        let ratios = zip(own, others).map { $0 / $1 }.sorted()
        let ratio = ratios[ratios.count / 2]

        let senders = try await senders(port: ports.line)
        // About the duration of the uploads, which are limited to 32 MiB per second beside requests.
        let time = Duration.seconds(max(seconds, load.atOnce * load.bytes >> 25))
        let alone = try await PacedSends.run(senders, pace: 100, for: time)
        let before = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
        let most = try await targets(load.atOnce, clients)
        var highest = before
        let beside = try await withThrowingTaskGroup(of: Void.self) { group in
            let (content, type, threads, http) = (content, load.type, world.threads, ports.http)
            for target in most {
                group.addTask {
                    try await UploadClient.put(content, type, to: target, port: http, group: threads)
                }
            }
            async let sent = PacedSends.run(senders, pace: 100, for: time)
            async let peak = highestMemory(ports.operations, for: time)
            try await group.waitForAll()
            highest = max(highest, try await peak)
            return try await sent
        }
        for client in clients { await client.close() }
        for sender in senders { await sender.client.close() }
        let (quiet, busy) = (alone.latencies, beside.latencies)
        let slower = (busy.milliseconds(99) ?? 0) / max(quiet.milliseconds(99) ?? 0, 0.001)
        let each = (highest - before) / Double(load.atOnce) / 1_024
        return (
            [
                "\(load.title), one after another, \(rounds) rounds of \(load.uploads): "
                    + "\(Int(own.max() ?? 0)) MB/s beside nginx's \(Int(others.max() ?? 0))",
                "\(load.atOnce) at once: a send's p99 \(busy.text(99)) ms beside \(quiet.text(99)) without; "
                    + "\(Int(each)) KB of the node's memory an upload",
            ],
            [
                BenchResult(name: "\(load.name)_ratio", value: ratio, unit: "ratio", goal: .atLeast(0.5)),
                BenchResult(name: "\(load.name)_send_p99_ratio", value: slower, unit: "ratio", goal: .below(1.5)),
                BenchResult(name: "\(load.name)_memory_kb", value: each, unit: "KB", goal: .below(1_024)),
            ]
        )
    }

    /// Two users upload alternately, so that neither exceeds its pending uploads.
    private func clients(port: Int) async throws -> [LineClient] {
        var clients: [LineClient] = []
        for pair in world.pairs.prefix(20) {
            let client = try await LineClient.connect(host: "127.0.0.1", port: port)
            _ = try await client.call("session.authenticate", ["access_token": .string(pair.sender.accessToken)])
            clients.append(client)
        }
        return clients
    }

    private func senders(port: Int) async throws -> [PacedSends.Sender] {
        var senders: [PacedSends.Sender] = []
        for pair in world.pairs.prefix(4) {
            let client = try await LineClient.connect(host: "127.0.0.1", port: port)
            _ = try await client.call("session.authenticate", ["access_token": .string(pair.sender.accessToken)])
            senders.append(.init(client: client, conversations: [pair.conversationID]))
        }
        return senders
    }

    /// Returns that many upload addresses.
    private func targets(_ count: Int, _ clients: [LineClient]) async throws -> [String] {
        var targets: [String] = []
        for number in 0..<count {
            let user = number % clients.count
            let answer = try await clients[user].call(
                "media.create",
                [
                    "purpose": .string("message"), "conversation_id": .string(world.pairs[user].conversationID),
                    "mime_type": .string(load.type), "bytes": .integer(load.bytes),
                ])
            guard let url = answer["upload"]?["url"]?.stringValue else { throw BenchError("There is no upload.") }
            targets.append(String(url.dropFirst("http://localhost".count)))
        }
        return targets
    }

    private func megabytesPerSecond(_ targets: [String], port: Int) async throws -> Double {
        let content = content
        let start = ContinuousClock.now
        for target in targets {
            try await UploadClient.put(content, load.type, to: target, port: port, group: world.threads)
        }
        return Double(targets.count * load.bytes) / 1_000_000 / ((ContinuousClock.now - start) / .seconds(1))
    }

    private func highestMemory(_ port: Int, for time: Duration) async throws -> Double {
        let end = ContinuousClock.now + time
        var highest = 0.0
        while ContinuousClock.now < end {
            highest = max(highest, try await OperationsClient.figure(OperationsClient.memory, port: port))
            try await Task.sleep(for: .milliseconds(50))
        }
        return highest
    }

    private func forget() async throws {
        try await world.postgres.psql("delete from public.media", database: "postline")
    }
}
