import Foundation
import Foundations

extension Timestamp {
    /// Returns the time that many seconds from now, as the protocol writes it.
    static func after(seconds: TimeInterval) -> String { text(Date(timeIntervalSinceNow: seconds)) }
}
