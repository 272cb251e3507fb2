import Messaging
import Outbox

/// Checks that the push services can be reached and accept this node's credentials.
struct PushCheck: Sendable {
    /// The push settings, or nil if push is off.
    let settings: PushSettings?

    private static let check = "push"

    func examine(_ report: (Finding) -> Void) async {
        guard let settings else { return }
        do {
            for (platform, flaw) in try await Pusher.check(settings) {
                if let flaw {
                    report(
                        .problem(
                            Self.check, "Pushes by \(platform.rawValue) are not taken: \(flaw.sentenceEnd)",
                            "See to the settings that begin with POSTLINE_PUSH_\(platform.rawValue.uppercased())."))
                } else {
                    report(.ok(Self.check, "Pushes by \(platform.rawValue) are taken."))
                }
            }
        } catch {
            report(
                .problem(
                    Self.check, "Nothing can be pushed: \(error)",
                    "POSTLINE_PUSH_AUTHORITIES_FILE must name certificates (PEM)."))
        }
    }
}
