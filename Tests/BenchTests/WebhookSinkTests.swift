import NIOCore
import NIOPosix
import Testing

@testable import postline_bench

@Suite("Webhook sink")
struct WebhookSinkTests {
    @Test("records the numbers of delivered messages only, by conversation")
    func arrivals() async throws {
        let threads = MultiThreadedEventLoopGroup.singleton
        let arrivals = try await WebhookSink.with { sink in
            let client = try await HTTPClient.connect(port: sink.port, accessToken: "none", group: threads)
            for (type, seq) in [("message", 3), ("read", 4), ("message", 5)] {
                let delivery = #"{"type":"\#(type)","push":{"conversation_id":"c","seq":\#(seq)}}"#
                _ = try await client.answer(to: "hook", ByteBuffer(string: delivery))
            }
            await client.close()
            return sink.arrivals
        }
        #expect(arrivals.mapValues { $0.map(\.seq) } == ["c": [3, 5]])
    }
}
