/// What is on or off.
enum Switch: String, CaseIterable, Sendable {
    case on, off
}
