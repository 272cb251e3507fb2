import NIOCore
import Synchronization
import Testing

@testable import Gateway

@Suite("Upload rate guard")
struct BodyPaceTests {
    @Test("limits the total rate only while requests run")
    func shared() {
        let isBusy = Mutex(false)
        let pace = BodyPace(bytesPerSecond: 1_000_000) { isBusy.withLock(\.self) }
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        #expect(pace.rest(after: 500_000, now: start) == .zero)
        isBusy.withLock { $0 = true }
        #expect(pace.rest(after: 100_000, now: start) == .milliseconds(100))
        #expect(pace.rest(after: 200_000, now: start) == .milliseconds(300))
        #expect(pace.rest(after: 100_000, now: start + .milliseconds(250)) == .milliseconds(150))
        // Unused time does not accumulate.
        #expect(pace.rest(after: 100_000, now: start + .seconds(9)) == .milliseconds(100))
        isBusy.withLock { $0 = false }
        #expect(pace.rest(after: 100_000, now: start + .seconds(9)) == .zero)
    }
}
