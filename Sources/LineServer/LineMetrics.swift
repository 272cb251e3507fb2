import Metrics
import WireProtocol

/// The metrics of the line server (swift-metrics), all prefixed `postline_`.
final class LineMetrics: Sendable {
    private let connections: Meter
    private let refusedFromAddress: Counter
    private let refusedInAll: Counter
    private let refusedTooOften: Counter
    private let refusedDisplaced: Counter
    private let refusedForDescriptors: Counter
    private let lines: Counter
    private let pushes: Counter
    private let lags: Counter
    private let timedOutRequests: Counter
    private let goodbyes: [GoodbyeCode: Counter]
    private let queueBytes: Meter
    private let overloads: Counter

    init(factory: any MetricsFactory) {
        func refusals(_ reason: String) -> Counter {
            Counter(
                label: "postline_connections_rejected_total", dimensions: [("reason", reason)], factory: factory)
        }
        connections = Meter(label: "postline_connections", factory: factory)
        refusedFromAddress = refusals("from_address")
        refusedInAll = refusals("in_all")
        refusedTooOften = refusals("too_often")
        refusedDisplaced = refusals("displaced")
        refusedForDescriptors = refusals("descriptors")
        lines = Counter(label: "postline_requests_received_total", factory: factory)
        pushes = Counter(label: "postline_events_sent_total", factory: factory)
        lags = Counter(label: "postline_slow_consumer_drops_total", factory: factory)
        timedOutRequests = Counter(label: "postline_request_timeouts_total", factory: factory)
        goodbyes = Dictionary(
            uniqueKeysWithValues: GoodbyeCode.allCases.map {
                let dimensions = [("reason", $0.rawValue)]
                return (
                    $0, Counter(label: "postline_connections_closed_total", dimensions: dimensions, factory: factory)
                )
            })
        overloads = Counter(label: "postline_outbound_queue_overflows_total", factory: factory)
        queueBytes = Meter(label: "postline_outbound_queue_bytes", factory: factory)
    }

    /// Counts a client that is served.
    func connected() { connections.increment() }

    /// Counts the end of a served client.
    func disconnected() { connections.decrement() }

    /// Counts a client beyond a connection limit.
    func refused(_ refusal: Admissions.Refusal) {
        switch refusal {
        case .fromAddress: refusedFromAddress.increment()
        case .inAll: refusedInAll.increment()
        case .tooOften: refusedTooOften.increment()
        case .displaced: refusedDisplaced.increment()
        }
    }

    /// Counts clients refused for lack of file descriptors.
    func refusedForDescriptors(_ count: Int) { self.refusedForDescriptors.increment(by: count) }

    /// Counts a line that was taken for execution.
    func line() { lines.increment() }

    /// Counts pushes that were given to connections.
    func pushed(_ count: Int) { pushes.increment(by: count) }

    /// Counts a slow consumer whose queued pushes were dropped.
    func lagged() { lags.increment() }

    /// Counts a request that timed out and was answered `internal_error`.
    func requestTimedOut() { timedOutRequests.increment() }

    /// Counts the goodbye to a served client.
    func saidGoodbye(_ code: GoodbyeCode) { goodbyes[code]?.increment() }

    /// Counts a client that was cut off because too many bytes waited for all clients together.
    func overloaded() { overloads.increment() }

    /// Adjusts the number of bytes that wait for clients.
    func queueBytesChanged(by difference: Int) {
        if difference != 0 { queueBytes.increment(by: Double(difference)) }
    }
}

extension LineServer {
    /// A description of each metric of a line server, by name.
    package static let metricHelp = [
        "postline_connections": "Open client connections.",
        "postline_connections_rejected_total": "Connections rejected, by the limit that they exceeded.",
        "postline_requests_received_total": "Request lines received for execution.",
        "postline_events_sent_total": "Pushes handed to connections.",
        "postline_slow_consumer_drops_total": "Times that a slow client's queued pushes were dropped.",
        "postline_request_timeouts_total": "Requests that exceeded the request timeout and failed with internal_error.",
        "postline_connections_closed_total": "Client connections that the server closed, by reason.",
        "postline_outbound_queue_overflows_total":
            "Clients disconnected because the responses queued for all clients exceeded their limit.",
        "postline_outbound_queue_bytes": "Bytes of pushes and responses that wait for clients to read.",
    ]
}
