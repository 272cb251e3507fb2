import BoundedWait

extension Check {
    static let throughFaults = Check(
        sentence:
            "F6: stopping and killing services under load loses or doubles nothing"
    ) { system in
        try await ComposeClient.with(6, at: system.lines) { clients in
            let senders = clients.prefix(4)
            let group = try await clients[0].group(with: clients.dropFirst())
            let load = Load()
            let answered = try await withThrowingTaskGroup(of: [String].self) { work in
                for sender in senders {
                    work.addTask {
                        var answered: [String] = []
                        while !(await load.isOver) {
                            let content = "\(sender.name), \(answered.count)"
                            try await sender.send(content, to: group)
                            answered.append(content)
                            await load.step()
                            // A pace within a user's send limit.
                            try await Task.sleep(for: .milliseconds(60))
                        }
                        return answered
                    }
                }
                do {
                    try await injectFaults(system, load)
                } catch {
                    work.cancelAll()
                    throw error
                }
                await load.end()
                return try await work.reduce(into: []) { $0 += $1 }
            }
            let stored = try await system.sql(
                "select content from public.messages where conversation_id = '\(group)' order by seq")
            let (lost, extra) = (Set(answered).subtracting(stored), Set(stored).subtracting(answered))
            try expect(lost.isEmpty, "\(lost.count) acknowledged messages are missing: \(lost.sorted().prefix(3))")
            try expect(extra.isEmpty, "\(extra.count) messages were not acknowledged: \(extra.sorted().prefix(3))")
            try expect(stored.count == answered.count, "\(answered.count) were answered, \(stored.count) are there")
            for client in clients {
                try await client.waitUntilHeld("all \(stored.count) messages") {
                    $0.contents[group]?.count == stored.count
                }
                let contents = await client.held.contents[group] ?? [:]
                let received = contents.sorted { $0.key < $1.key }.map(\.value)
                try expect(received == stored, "\(client.name) holds other messages than the database")
            }
            var (reconnects, retries) = (0, 0)
            for client in clients {
                reconnects += await client.reconnects
                retries += await client.retries
            }
            try expect(reconnects > clients.count, "only \(reconnects) reconnects")
            printLine(
                "\(stored.count) messages acknowledged, each stored once and with \(clients.count) of \(clients.count) "
                    + "clients once and in order; \(reconnects) reconnects, \(retries) retries.")
        }
    }

    /// Stops, kills and starts each service, with acknowledged sends in between.
    private static func injectFaults(_ system: ComposedSystem, _ load: Load) async throws {
        let console = ComposeConsole()
        for (how, service) in [
            ("kill", "postline-1"), ("stop", "postline-2"), ("stop", "postgres"), ("kill", "postgres"),
            ("kill", "balancer"), ("kill", "postline-2"), ("stop", "postline-1"),
        ] {
            try await load.waitForProgress()
            try await console.run("\(how) \(service)")
            // Sends continue with one node fewer, and pause without the other services.
            if service.hasPrefix("postline") { try await load.waitForProgress() }
            try await console.run("start \(service)")
            try await system.waitUntilReady()
        }
        try await load.waitForProgress()
    }
}

/// The number of acknowledged sends.
private actor Load {
    private(set) var isOver = false
    private var count = 0
    private var changed = ChangeSignal()

    func step() {
        count += 1
        changed.signal()
    }

    func end() { isOver = true }

    /// Waits for forty more acknowledged sends.
    func waitForProgress() async throws {
        let goal = count + 40
        try await within("forty more sends to be answered") { [self] in try await reach(goal) }
    }

    private func reach(_ goal: Int) async throws {
        while count < goal {
            for await _ in changed.next() {}
            try Task.checkCancellation()
        }
    }
}
