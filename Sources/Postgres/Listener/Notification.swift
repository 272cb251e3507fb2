/// A received notification.
struct Notification: Sendable {
    let channel: String
    let payload: String
    /// The process id of the notifying backend.
    let processID: Int32
}
