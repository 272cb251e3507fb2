/// The accounts' requirements that depend on mail.
package struct MailPolicy: Sendable {
    /// True if sign-in requires a confirmed address.
    package let signInNeedsConfirmedEmail: Bool

    package init(signInNeedsConfirmedEmail: Bool) {
        self.signInNeedsConfirmedEmail = signInNeedsConfirmedEmail
    }
}
