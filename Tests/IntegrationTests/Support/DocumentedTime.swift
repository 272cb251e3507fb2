import Testing

/// The maximum latencies of the source documents. Their values are only here.
enum DocumentedTime: Hashable, CaseIterable, Sendable {
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

    /// The slack of a single attempt, since a machine with other load may pause. A delay of our own affects every
    /// attempt and so the median.
    static let slack: Duration = .seconds(2)
}

/// The number of attempts, odd so that one is the median.
private let tries = 5

/// Does something several times, and expects of each time that it reaches that the median is within the document's
/// limit, and the worst within that and the slack.
///
/// - Parameter body: begins the laps before the change, and records what it reached. It leaves a world in which it can
///   be done again.
func expectInTime(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout Laps) async throws -> Void
) async throws {
    var taken: [DocumentedTime: [Duration]] = [:]
    for _ in 0..<tries {
        var laps = Laps()
        try await body(&laps)
        for (time, duration) in laps.taken { taken[time, default: []].append(duration) }
    }
    #expect(!taken.isEmpty, "\(what): no time was taken", sourceLocation: sourceLocation)
    for (time, durations) in taken {
        let sorted = durations.sorted()
        let explanation: Comment = "\(what), \(time) within \(time.limit): \(sorted)"
        #expect(sorted[sorted.count / 2] <= time.limit, explanation, sourceLocation: sourceLocation)
        #expect(
            sorted[sorted.count - 1] <= time.limit + DocumentedTime.slack, explanation, sourceLocation: sourceLocation)
    }
}

/// The times from a change to what it reached.
struct Laps {
    private var start = ContinuousClock.now
    fileprivate private(set) var taken: [(time: DocumentedTime, duration: Duration)] = []

    fileprivate init() {}

    /// The change is made now.
    mutating func begin() { start = .now }

    /// The change has reached what that time is about.
    mutating func reached(_ time: DocumentedTime) { taken.append((time, .now - start)) }
}
