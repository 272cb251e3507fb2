/// A guarantee of the composed system, and its test.
struct Check: Sendable {
    let sentence: String

    /// The test. It throws if the guarantee does not hold.
    let run: @Sendable (ComposedSystem) async throws -> Void

    static let all: [Check] = [
        .spread, .liveAcrossNodes, .resumed, .writtenBySQL, .overHTTP, .streamsOverHTTP,
        .addressesAreTheClients,
    ]
}

/// The error of a guarantee that does not hold.
struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}

func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw CheckFailure(description: otherwise()) }
}
