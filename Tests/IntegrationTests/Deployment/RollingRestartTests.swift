import Testing

@Suite("Rolling restart", .timeLimit(.minutes(20)))
struct RollingRestartTests {
    /// The number of restarts of each node, and of changes around each.
    private static let (rounds, changes) = (3, 100)

    @Test("restarting two nodes in turn under load loses nothing")
    func restarts() async throws {
        try await TestDatabase.with { database in
            let nodes = [try await NodeProcess(database), try await NodeProcess(database)]
            do {
                try await Self.run(database, nodes)
            } catch {
                for node in nodes { try? await node.kill() }
                throw error
            }
            for node in nodes {
                try await node.stop()
                #expect(await node.errors == [])
            }
        }
    }

    private static func run(_ database: TestDatabase, _ nodes: [NodeProcess]) async throws {
        var random = SeededRandom(20_261_121)
        let writeLog = WriteLog()
        let accounts = try await ModelTests.registered(4, at: nodes[0])
        let users = accounts.map(\.id)
        let group = try await database.makeGroup("Everybody", users)
        let devices = accounts.enumerated().map { place, account in
            Device("device \(place)", account, nodes, writeLog, random.branch())
        }
        let workloads = devices.map { Workload($0, users: users, groups: [group], writeLog, random.branch()) }
        let expected = ExpectedState(database: database, devices: devices, writeLog: writeLog)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for device in devices { tasks.addTask { await device.run() } }
            for device in devices { _ = await device.connected() }
            try await withThrowingTaskGroup(of: Void.self) { work in
                for workload in workloads {
                    work.addTask {
                        var workload = workload
                        await workload.work()
                    }
                }
                work.addTask {
                    for _ in 0..<rounds {
                        for node in nodes {
                            await writeLog.waitForChanges(await writeLog.changes + changes)
                            try await node.stop()
                            // The other node serves all of them.
                            await writeLog.waitForChanges(await writeLog.changes + changes)
                            try await node.start()
                        }
                    }
                    await writeLog.waitForChanges(await writeLog.changes + changes)
                    await writeLog.endRound()
                }
                try await work.waitForAll()
            }
            // Each device equals the database, and each acknowledged write is stored once.
            try await expected.compare(atFence: 1)
            try await expected.audit()
            tasks.cancelAll()
            for device in devices { await device.disconnect() }
        }
        #expect(await writeLog.violations == [])
        // Each node had clients whenever it was stopped, since each stop but the first follows one of the other.
        for device in devices { #expect(await device.reconnects >= rounds) }
    }
}
