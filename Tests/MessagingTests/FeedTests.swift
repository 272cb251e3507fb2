@testable import ChangeFeed
@testable import DatabaseAccess
@testable import Foundations
import Logging
import Metrics
@testable import Postgres
import Testing
@testable import WireProtocol

@Suite("Feed before the first poll")
struct FeedTests {
    private let feed: Feed

    init() {
        var settings = Feed.Settings(
            url: "postgresql:///nowhere", limits: StatementLimits(statement: .seconds(1), lock: .seconds(1)))
        settings.firstPollTimeout = .zero
        feed = Feed(
            settings: settings, typingSecret: "secret", reactor: Reactor(name: "feed"), logger: Logger(label: "test"),
            metrics: NOOPMetricsHandler.instance, onDeletion: { _ in })
    }

    @Test("accepts no subscription")
    func noSession() async throws {
        let sink = RecordingSink()
        let refusal = await #expect(throws: ProtocolError.self) {
            try await feed.subscribe(user: ID.random(), sink: sink, messagesPerConversation: 1)
        }
        #expect(refusal?.code == .unavailable)
        #expect(sink.orders.isEmpty)
    }

    @Test("rejects pages of another history or an older state")
    func pages() throws {
        let snapshot = try #require(Snapshot("10:14:11"))
        let position = Feed.Position(epoch: "a", snapshot: snapshot)
        func isReached(_ epoch: String, _ text: String) throws -> Bool {
            position.isReached(
                by: .init(
                    epoch: epoch, snapshot: try #require(Snapshot(text)), conversations: [], seesPresence: false))
        }
        #expect(try isReached("a", "10:14:11"))
        #expect(try isReached("a", "12:16:"))
        #expect(try !isReached("b", "12:16:"), "one that was promoted")
        #expect(try !isReached("a", "10:13:11"), "one that came back with less")
        #expect(try !isReached("a", "10:14:11,12"), "what was told is in progress there")
    }

    @Test("reports no lag")
    func noLag() async { #expect(await feed.lag == nil) }
}
