import Accounts

/// Checks that the keys that verify Apple's tokens can be fetched.
struct AppleCheck: Sendable {
    /// The keys, or nil if Sign in with Apple is off.
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
                    "POSTLINE_APPLE_KEYS_FILE must be a JWK set. If it is not set, this machine must reach Apple, or "
                        + "POSTLINE_APPLE_KEYS_URL."))
        }
    }
}
