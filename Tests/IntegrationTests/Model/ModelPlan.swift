import Foundation

/// How long a run of the model test is, and what it is made of.
///
/// The seed decides what each device and each program does, in which order, and which faults strike whom. How these
/// interleave is the machine's.
struct ModelPlan: Sendable {
    var seed: UInt64 = 20_261_121
    var changes = 3_000
    var faults = 2 * Fault.allCases.count
    /// The kinds of fault, each as often as any other.
    var kinds = Fault.allCases
    var users = 5
    var nodes = 2
    var programs = 2
    var groups = 5

    /// After so many of the faults everybody stops, and is held against the database.
    var quietPoints = 3

    /// The run that `make test` makes, or the one that `make soak` asks for.
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

    /// Whether somebody waits for it who wants to see how far it is.
    var isVerbose = false

    func log(_ what: String) {
        if isVerbose { FileHandle.standardError.write(Data((what + "\n").utf8)) }
    }

    /// Every other user has a second device.
    var devices: Int { users + users / 2 }
}
