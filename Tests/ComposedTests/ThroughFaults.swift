import BoundedWait

extension Check {
    static let throughFaults = Check(
        sentence:
            "F6: while nodes, PostgreSQL and the balancer are stopped and killed under load, nothing is lost or doubled"
    ) { system in
        try await ComposeClient.with(6, at: system.lines) { visitors in
            let senders = visitors.prefix(4)
            let group = try await visitors[0].group(with: visitors.dropFirst())
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
                            // A person's pace: within the sends that a user has.
                            try await Task.sleep(for: .milliseconds(60))
                        }
                        return answered
                    }
                }
                do {
                    try await strike(system, load)
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
            try expect(lost.isEmpty, "\(lost.count) answered messages are not there: \(lost.sorted().prefix(3))")
            try expect(extra.isEmpty, "\(extra.count) messages nobody was answered: \(extra.sorted().prefix(3))")
            try expect(stored.count == answered.count, "\(answered.count) were answered, \(stored.count) are there")
            for client in visitors {
                try await client.holds("all \(stored.count) messages") { $0.contents[group]?.count == stored.count }
                let contents = await client.held.contents[group] ?? [:]
                let told = contents.sorted { $0.key < $1.key }.map(\.value)
                try expect(told == stored, "\(client.name) holds other messages than the database")
            }
            var (returns, retries) = (0, 0)
            for client in visitors {
                returns += await client.returns
                retries += await client.retries
            }
            try expect(returns > visitors.count, "nobody noticed: \(returns) returns")
            say(
                "\(stored.count) messages answered, each there once and with \(visitors.count) of \(visitors.count) "
                    + "clients once and in order; they came back \(returns) times and tried again \(retries) times.")
        }
    }

    /// Stops, kills and starts each service, with sends answered in between.
    private static func strike(_ system: ComposedSystem, _ load: Load) async throws {
        let console = ComposeConsole()
        for (how, service) in [
            ("kill", "postline-1"), ("stop", "postline-2"), ("stop", "postgres"), ("kill", "postgres"),
            ("kill", "balancer"), ("kill", "postline-2"), ("stop", "postline-1"),
        ] {
            try await load.goesOn()
            try await console.run("\(how) \(service)")
            // With one node less all goes on; without the others, nothing does until they are back.
            if service.hasPrefix("postline") { try await load.goesOn() }
            try await console.run("start \(service)")
            try await system.isReady()
        }
        try await load.goesOn()
    }
}

/// Counts acknowledged sends.
private actor Load {
    private(set) var isOver = false
    private var count = 0
    private var changed = ChangeSignal()

    func step() {
        count += 1
        changed.signal()
    }

    func end() { isOver = true }

    /// Returns when forty more were answered.
    func goesOn() async throws {
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
