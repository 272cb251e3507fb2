/// What this node's accounts need mail for.
public struct MailPolicy: Sendable {
    /// Whether one signs in to an account only once its address is confirmed.
    public let signInNeedsConfirmedEmail: Bool

    public init(signInNeedsConfirmedEmail: Bool) {
        self.signInNeedsConfirmedEmail = signInNeedsConfirmedEmail
    }
}
