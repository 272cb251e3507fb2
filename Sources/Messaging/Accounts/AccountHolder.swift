/// Who may open a session of an account: whoever gave its password, or just made it.
struct AccountHolder: Sendable {
    let user: ID

    /// The stored hash that the password was verified against; nil for a guest, who has none. What the holder is let in
    /// for is done only where it is still the stored one: a password that was changed meanwhile opens nothing.
    let passwordHash: String?
}
