import Foundations
import Metrics

/// The metrics of mail.
struct MailMetrics: Sendable {
    private let factory: any MetricsFactory

    init(_ factory: any MetricsFactory) { self.factory = factory }

    func settled(_ kind: MailOrder.Kind, _ outcome: MailOutcome, after duration: Duration) {
        let dimensions = [("kind", kind.rawValue), ("outcome", outcome.name)]
        Counter(label: "postline_mails_total", dimensions: dimensions, factory: factory).increment()
        Timer(label: "postline_mail_duration_seconds", factory: factory).recordNanoseconds(
            duration.count(of: .nanoseconds(1)))
    }
}

extension Mailer {
    /// A description of each metric, by name.
    package static let metricHelp = [
        "postline_mails_total": "Mails handed to the transport, by kind and outcome.",
        "postline_mail_duration_seconds": "The duration of a mail's delivery attempt.",
    ]
}
