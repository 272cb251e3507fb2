import Logging
import Metrics
import Postgres
import Testing

@testable import Messaging

@Suite("A feed that has not seen the database")
struct FeedTests {
    private let feed: Feed

    init() {
        var settings = Feed.Settings(
            url: "postgresql:///nowhere", limits: StatementLimits(statement: .seconds(1), lock: .seconds(1)))
        settings.firstSight = .zero
        feed = Feed(
            settings: settings, typingSecret: "secret", reactor: Reactor(name: "feed"), logger: Logger(label: "test"),
            metrics: NOOPMetricsHandler.instance, onDeletion: { _ in })
    }

    @Test("takes no session: between its page and its first push there could be a gap")
    func noSession() async throws {
        let sink = RecordingSink()
        let refusal = await #expect(throws: ProtocolError.self) {
            try await feed.subscribe(user: ID.random(), sink: sink, messagesPerConversation: 1)
        }
        #expect(refusal?.code == .unavailable)
        #expect(sink.orders.isEmpty)
    }

    @Test("does not say that it is up to date")
    func noLag() async { #expect(await feed.lag == nil) }
}
