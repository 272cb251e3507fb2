/// What a `NOTIFY` carried.
struct Notification: Sendable {
    let channel: String
    let payload: String
    /// The backend that notified.
    let processID: Int32
}
