/// What the composed system must hold to, and how that is tested.
struct Check: Sendable {
    let sentence: String

    /// Throws where it is not.
    let isKept: @Sendable (ComposedSystem) async throws -> Void

    static let all: [Check] = [
        .spread, .liveAcrossNodes, .resumed, .writtenBySQL, .overHTTP, .streamsOverHTTP,
        .addressesAreTheClients,
    ]
}

/// A promise that was not kept.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}

func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw CheckFailure(description: otherwise()) }
}
