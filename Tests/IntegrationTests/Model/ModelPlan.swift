import Foundation

/// The plan of a run of the model test.
///
/// The seed determines the actions of each device and program, their order, and the faults. How these
/// interleave depends on the machine.
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
    static var asked: ModelPlan {
        var plan = ModelPlan()
        let environment = ProcessInfo.processInfo.environment
        func number(_ name: String) -> Int? { environment["POSTLINE_MODEL_\(name)"].flatMap { Int($0) } }
        plan.seed = number("SEED").map { UInt64($0) } ?? plan.seed
        guard let changes = number("CHANGES") else { return plan }
        plan.isWatched = true
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
    var isWatched = false

    func tell(_ what: String) {
        if isWatched { FileHandle.standardError.write(Data((what + "\n").utf8)) }
    }

    /// Every other user has a second device.
    var devices: Int { users + users / 2 }
}
