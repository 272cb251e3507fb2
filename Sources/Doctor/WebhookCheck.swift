import Outbox

/// Checks that a webhook of moderation can be reached and accepts this node's requests.
struct WebhookCheck: Sendable {
    /// The webhook, or nil if none is set.
    let webhook: WebhookSettings?

    /// The objects that it is told of, in the plural.
    let about: String

    /// The beginning of its settings' names.
    let settings: String

    func examine(_ report: (Finding) -> Void) async {
        guard let webhook else { return }
        if let flaw = await webhook.check() {
            report(
                .problem(
                    about, "The webhook does not take \(about): \(flaw.sentenceEnd)",
                    "See to the settings that begin with \(settings)."))
        } else {
            report(.ok(about, "The webhook takes \(about)."))
        }
    }
}
