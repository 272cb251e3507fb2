/// The accounts' requirements that depend on mail.
public struct MailPolicy: Sendable {
    /// True if sign-in requires a confirmed address.
    public let signInNeedsConfirmedEmail: Bool

    public init(signInNeedsConfirmedEmail: Bool) {
        self.signInNeedsConfirmedEmail = signInNeedsConfirmedEmail
    }
}
