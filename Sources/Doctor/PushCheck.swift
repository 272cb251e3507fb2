internal import Messaging
internal import Push

/// Those who push to devices: whether they can be reached, and take what this node would give them.
struct PushCheck: Sendable {
    /// Nil where nothing is pushed.
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
