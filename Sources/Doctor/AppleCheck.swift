internal import Messaging

/// Sign in with Apple: whether the keys can be had that verify Apple's tokens.
struct AppleCheck: Sendable {
    /// Nil where nobody signs in with Apple.
    let keys: (any KeySetSource)?

    private static let check = "apple"

    func examine(_ report: (Finding) -> Void) async {
        guard let keys else { return }
        do {
            let count = try await AppleSignIn.countKeys(of: keys)
            report(.ok(Self.check, "Apple's tokens can be verified; keys: \(count)."))
        } catch {
            report(
                .problem(
                    Self.check, "Nobody can sign in with Apple: \(error).",
                    "POSTLINE_APPLE_KEYS_FILE must be a JWK set; where it is not set, this machine must reach Apple, or "
                        + "POSTLINE_APPLE_KEYS_URL."))
        }
    }
}
