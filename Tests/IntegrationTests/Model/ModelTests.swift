import PrivatePostgres
import Testing

/// A test of the whole guarantee: devices and SQL writers act at random on several nodes under all faults, and at quiet
/// points and in the end every client equals the database, with each change received once and in order.
///
/// `make test` runs a short fixed seed, `make soak` a long random one.
@Suite("Model test", .timeLimit(.minutes(60)))
struct ModelTests {
    @Test("under any faults, clients equal the database without loss")
    func model() async throws {
        let plan = ModelPlan.fromEnvironment
        try await withPrivateServer(settings: ["max_connections": "200"]) { postgres, database in
            try await withStandby(of: postgres, settings: ["max_connections": "200"]) { standby, copy in
                // One node reads from the standby, the others from the primary. Devices bring any cursor to any node.
                let nodes = try await (0..<plan.nodes).map { $0 }.asyncMap {
                    try await NodeProcess(database, standby: $0 == 0 ? copy : nil)
                }
                do {
                    let report = try await Self.run(plan, (postgres, standby), database, nodes)
                    print(report)
                    for node in nodes { for line in await node.errors { print("port \(node.port): \(line)") } }
                } catch {
                    for node in nodes { try? await node.kill() }
                    throw error
                }
                for node in nodes { try await node.kill() }
            }
        }
    }

    private static func run(
        _ plan: ModelPlan, _ servers: (primary: PrivatePostgres, standby: PrivatePostgres), _ database: TestDatabase,
        _ nodes: [NodeProcess]
    ) async throws -> String {
        var random = SeededRandom(plan.seed)
        let writeLog = WriteLog()
        let accounts = try await registered(plan.users + 2, at: nodes[0])
        // The bystander has no device. The stranger only listens, and is a member of nothing.
        let (bystander, stranger) = (accounts[plan.users].id, accounts[plan.users + 1])
        let users = accounts.prefix(plan.users).map(\.id)
        var groups: [String] = []
        for number in 0..<plan.groups {
            let members = users.shuffled(using: &random).prefix(Int.random(in: 2...plan.users, using: &random))
            groups.append(try await database.makeGroup("Group \(number)", Array(members)))
        }
        _ = try await database.makeGroup("Everybody", [bystander] + users)
        let own = (0..<plan.devices).map { place in
            Device("device \(place)", accounts[place % plan.users], nodes, writeLog, random.branch())
        }
        let devices = own + [Device("the stranger's device", stranger, nodes, writeLog, random.branch())]
        var workloads = own.map { Workload($0, users: users, groups: groups, writeLog, random.branch()) }
        let programs = (0..<plan.programs).map { place in
            SQLWriter("program \(place)", database, users: users, groups: groups, writeLog, random.branch())
        }
        let faultInjector = FaultInjector(
            postgres: servers.primary, standby: servers.standby, database: database, nodes: nodes, devices: devices,
            bystander: bystander,
            writeLog: writeLog, span: max(5, plan.changes / plan.faults / 10))
        let expected = ExpectedState(database: database, devices: devices, writeLog: writeLog)
        // The order depends on the seed.
        let faults = (0..<plan.faults).map { plan.kinds[$0 % plan.kinds.count] }.shuffled(using: &random)

        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for device in devices { tasks.addTask { await device.run() } }
            var injected = 0
            for round in 1...plan.quietPoints {
                let goal = plan.changes * round / plan.quietPoints
                let share = plan.faults * round / plan.quietPoints
                let (start, ahead) = (await writeLog.changes, Array(faults[injected..<share]))
                injected = share
                let faultRandom = random.branch()
                await writeLog.beginRound()
                workloads = try await withThrowingTaskGroup(of: (Int, Workload)?.self) { work in
                    for (place, workload) in workloads.enumerated() {
                        work.addTask {
                            var workload = workload
                            await workload.work()
                            return (place, workload)
                        }
                    }
                    for program in programs {
                        work.addTask {
                            try await program.work()
                            return nil
                        }
                    }
                    work.addTask { [faultRandom] in
                        var random = faultRandom
                        for (place, fault) in ahead.enumerated() {
                            await writeLog.waitForChanges(start + (goal - start) * place / ahead.count)
                            plan.log("\(await writeLog.changes) changes: \(fault.rawValue)")
                            do {
                                try await faultInjector.inject(fault, &random)
                            } catch {
                                await writeLog.recordViolation("\(error)", by: fault.rawValue)
                            }
                        }
                        await writeLog.waitForChanges(goal)
                        await writeLog.endRound()
                        return nil
                    }
                    var done = workloads
                    for try await case let (place, workload)? in work { done[place] = workload }
                    return done
                }
                plan.log("\(await writeLog.changes) changes: comparing all clients with the database")
                guard await writeLog.violations.isEmpty else { break }
                try await expected.compare(atFence: round)
            }
            try await expected.audit()
            tasks.cancelAll()
            for device in devices { await device.disconnect() }
        }
        let violations = await writeLog.violations
        #expect(violations == [], "seed \(plan.seed)")
        return await report(plan, faults, writeLog, devices, violations)
    }

    /// Registers accounts, and returns each with a token for its devices.
    static func registered(_ count: Int, at node: NodeProcess) async throws -> [(id: String, token: String)] {
        var accounts: [(id: String, token: String)] = []
        for number in 0..<count {
            let client = try await TestClient.connect(port: node.port)
            let tokens = try await client.register("User \(number)")
            accounts.append((tokens.text("user_id"), tokens.text("access_token")))
            await client.close()
        }
        return accounts
    }

    private static func report(
        _ plan: ModelPlan, _ faults: [Fault], _ writeLog: WriteLog, _ devices: [Device], _ violations: [String]
    ) async -> String {
        var (given, reconnects, lags) = (0, 0, 0)
        for device in devices {
            given += await device.model.count
            reconnects += await device.reconnects
            lags += await device.lags
        }
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
        let verdict =
            violations.isEmpty
            ? "Nothing was lost, doubled, misordered or leaked."
            : "A GUARANTEE WAS VIOLATED: \(violations.joined(separator: "; "))"
        return """
            The model test, seed \(plan.seed): \(await writeLog.changes) changes (\(list(await writeLog.kinds))) \
            by \(plan.devices) devices of \(plan.users) users on \(plan.nodes) nodes and by \(plan.programs) programs, \
            with \(list(await writeLog.refusals)) refused, through \(faults.count) faults (\(list(Dictionary(grouping: faults, by: \.rawValue).mapValues(\.count)))). \
            The devices received \(given) objects, reconnected \(reconnects) times and lagged \(lags) times; at \
            \(plan.quietPoints) quiet points each was compared with the database. \(verdict)
            """
    }
}
