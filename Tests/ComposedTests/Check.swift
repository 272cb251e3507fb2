/// A requirement of the composed system, with its test.
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
struct Broken: Error, CustomStringConvertible {
    let description: String
}

func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw Broken(description: otherwise()) }
}
