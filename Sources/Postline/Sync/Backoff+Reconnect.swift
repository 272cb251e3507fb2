import Foundations

extension Backoff {
    /// The delays of repeated requests and connects: up to 0.5 s after the first failure, doubled with each, up to 30 s.
    static let reconnect = Backoff(base: .milliseconds(500), limit: .seconds(30))
}
