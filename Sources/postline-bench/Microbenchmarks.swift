import ChangeFeed
import Foundations
import LineClient
import LineServer

/// The computation of the service for a request and a change, without sockets and database.
struct Microbenchmarks {
    func run() throws -> (table: [String], figures: [BenchResult]) {
        let request =
            #"{"jsonrpc":"2.0","id":42,"method":"messages.send","params":{"conversation_id":"\#(randomUUID())","#
            + #""client_id":"\#(randomUUID())","content":"Shall we meet at the harbour at seven?"}}"#
        let members = 1_000
        let paths: [(name: String, what: String, each: Int, body: () -> Int)] = [
            (
                "framing", "a line cut out of the stream", 1_000,
                LineHotPaths.framing(String(repeating: request + "\n", count: 1_000))
            ),
            ("envelope", "a line read as a request", 1, LineHotPaths.envelope(request)),
            ("cursor", "a cursor read and written", 1, FeedHotPaths.cursor()),
            ("fanout_1", "a delivery of a look with 1 message", members, FeedHotPaths.fanOut(messages: 1, to: members)),
            (
                "fanout_8", "a delivery of a look with 8 messages", members * 8,
                FeedHotPaths.fanOut(messages: 8, to: members)
            ),
        ]
        var table = ["What the service computes, without sockets and database"]
        var figures: [BenchResult] = []
        for path in paths {
            let nanoseconds = try measure(path.each, path.body)
            table.append("  \(TextWidth.fit(path.what, to: 40)) \(BenchResult.text(nanoseconds, 0)) ns")
            figures.append(BenchResult(name: "hot_\(path.name)_ns", value: nanoseconds, unit: "ns", goal: nil))
        }
        return (table, figures)
    }

    /// Returns the median of five rounds, in nanoseconds per operation.
    ///
    /// - Parameter count: the operations of one call, which its result must confirm.
    private func measure(_ count: Int, _ body: () -> Int) throws -> Double {
        var rounds: [Double] = []
        // The first round warms up.
        for round in 0...5 {
            var done = 0
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(200) {
                guard body() == count else { throw BenchError("What is measured did not do its work.") }
                done += count
            }
            if round > 0 { rounds.append((ContinuousClock.now - start) / .nanoseconds(1) / Double(done)) }
        }
        return median(rounds) ?? 0
    }
}
