import Testing

/// How soon the source documents want a change to be seen. Their figures stand here and nowhere else.
enum DocumentedTime: Sendable {
    /// "Must appear in local UI within 500ms."
    case ownScreen

    /// "Must complete within 1 second."
    case written

    /// "Must appear on other users' devices within 2-3 seconds."
    case others

    /// "Profile fetch < 2 seconds."
    case profileFetched

    /// "Profile update < 3 seconds."
    case profileUpdated

    var limit: Duration {
        switch self {
        case .ownScreen: .milliseconds(500)
        case .written: .seconds(1)
        case .others: .seconds(3)
        case .profileFetched: .seconds(2)
        case .profileUpdated: .seconds(3)
        }
    }
}

/// How often a thing is done before it counts as too slow. This is the room for a machine that runs all tests at once
/// and is late now and then; what takes too long by itself is late every time.
private let tries = 5

/// Does something, and expects each of the times that it reaches to be within the document's, in one try of a few.
///
/// - Parameter body: begins the laps before the change, and says what it reached when. It leaves a world in which it can
///   be done again.
func expectInTime(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout Laps) async throws -> Void
) async throws {
    var late: [String] = []
    for _ in 0..<tries {
        var laps = Laps()
        try await body(&laps)
        if laps.late.isEmpty { return }
        late += laps.late
    }
    Issue.record("\(what): \(late.joined(separator: "; "))", sourceLocation: sourceLocation)
}

/// When what was reached, from a change on.
struct Laps {
    private var start = ContinuousClock.now
    fileprivate var late: [String] = []

    fileprivate init() {}

    /// The change is made now.
    mutating func begin() { start = .now }

    mutating func reached(_ time: DocumentedTime) {
        let taken = .now - start
        if taken > time.limit { late.append("\(time) after \(taken), of \(time.limit)") }
    }
}
