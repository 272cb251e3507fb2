extension Duration {
    /// The duration for PostgreSQL's settings, such as `10000ms`.
    package var milliseconds: String {
        let (seconds, attoseconds) = components
        return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
