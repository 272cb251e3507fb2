import Foundation

/// The size of a model test run.
///
/// The seed decides the actions of each device and writer, their order, and the faults. Their interleaving depends on
/// the machine.
struct ModelPlan: Sendable {
    var seed: UInt64 = 20_261_121
    var changes = 3_000
    var faults = 2 * Fault.allCases.count
    /// The kinds of faults, all equally frequent.
    var kinds = Fault.allCases
    var users = 5
    var nodes = 2
    var programs = 2
    var groups = 5

    /// The number of points at which all writes stop and states are compared.
    var quietPoints = 3

    /// The plan of `make test`, or of `make soak` if its variables are set.
    static var fromEnvironment: ModelPlan {
        var plan = ModelPlan()
        let environment = ProcessInfo.processInfo.environment
        func number(_ name: String) -> Int? { environment["POSTLINE_MODEL_\(name)"].flatMap { Int($0) } }
        plan.seed = number("SEED").map { UInt64($0) } ?? plan.seed
        guard let changes = number("CHANGES") else { return plan }
        plan.isVerbose = true
        plan.changes = changes
        plan.faults = number("FAULTS") ?? plan.faults
        let kinds = environment["POSTLINE_MODEL_KINDS"]?.split(separator: ",").map(String.init) ?? []
        if !kinds.isEmpty { plan.kinds = Fault.allCases.filter { kinds.contains("\($0)") } }
        plan.users = 9
        plan.nodes = 3
        plan.programs = 3
        plan.groups = 9
        plan.quietPoints = max(2, plan.faults / 5)
        return plan
    }

    /// True if progress is printed.
    var isVerbose = false

    func log(_ what: String) {
        if isVerbose { FileHandle.standardError.write(Data((what + "\n").utf8)) }
    }

    /// The number of devices. Every other user has a second one.
    var devices: Int { users + users / 2 }
}
