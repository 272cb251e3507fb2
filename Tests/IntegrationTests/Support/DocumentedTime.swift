import Testing

/// The times within which the source documents expect a change to be visible. Only this type has the figures.
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

    /// The tolerance of the worst of several tries, for pauses of a busy machine. The median detects our own delays.
    static let slack: Duration = .seconds(2)
}

/// The number of tries. It is odd, so that one of them is the median.
private let tries = 5

/// Repeats an action, and expects the median of each time within its limit, and the worst within limit and slack.
///
/// - Parameter body: The action. It starts the stopwatch before the change, records what was reached, and can be
///   repeated.
func expectInTime(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout Stopwatch) async throws -> Void
) async throws {
    var taken: [DocumentedTime: [Duration]] = [:]
    for _ in 0..<tries {
        var stopwatch = Stopwatch()
        try await body(&stopwatch)
        for (time, duration) in stopwatch.taken { taken[time, default: []].append(duration) }
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

/// The times from a change to each observation.
struct Stopwatch {
    private var start = ContinuousClock.now
    fileprivate private(set) var taken: [(time: DocumentedTime, duration: Duration)] = []

    fileprivate init() {}

    /// Marks the moment of the change.
    mutating func begin() { start = .now }

    /// Records that the change has become visible.
    mutating func reached(_ time: DocumentedTime) { taken.append((time, .now - start)) }
}
