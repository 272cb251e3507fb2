import Testing

/// How soon the source documents want a change to be seen. Their figures stand here and nowhere else.
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

    /// How much later than its limit one try of several may be: a machine that runs other programs, too, stands still
    /// for a moment now and then. A delay of our own comes with every try, and is held by the median.
    static let slack: Duration = .seconds(2)
}

/// How often a thing is done: an odd number, so that one of the times is the median.
private let tries = 5

/// Does something several times, and expects of each time that it reaches that the median is within the document's
/// limit, and the worst within that and the slack.
///
/// - Parameter body: begins the laps before the change, and records what it reached. It leaves a world in which it can
///   be done again.
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

/// The times from a change to what it reached.
struct Stopwatch {
    private var start = ContinuousClock.now
    fileprivate private(set) var taken: [(time: DocumentedTime, duration: Duration)] = []

    fileprivate init() {}

    /// The change is made now.
    mutating func begin() { start = .now }

    /// The change has reached what that time is about.
    mutating func reached(_ time: DocumentedTime) { taken.append((time, .now - start)) }
}
