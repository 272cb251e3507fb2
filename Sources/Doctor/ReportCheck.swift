import Outbox

/// Checks that the webhook of new reports can be reached and accepts this node's requests.
struct ReportCheck: Sendable {
    /// The webhook, or nil if none is set.
    let webhook: ReportWebhookSettings?

    private static let check = "reports"

    func examine(_ report: (Finding) -> Void) async {
        guard let webhook else { return }
        if let flaw = await ReportNotifier.check(webhook) {
            report(
                .problem(
                    Self.check, "The webhook does not take reports: \(flaw.sentenceEnd)",
                    "See to the settings that begin with POSTLINE_REPORT."))
        } else {
            report(.ok(Self.check, "The webhook takes reports."))
        }
    }
}
