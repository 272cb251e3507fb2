@testable import HTTPServing
import NIOCore
import Synchronization
import Testing

@testable import Gateway

@Suite("Upload rate guard")
struct UploadRateGuardTests {
    @Test("uploads share one rate while the server is busy, and are unlimited otherwise")
    func shared() {
        let isBusy = Mutex(false)
        let rateGuard = UploadRateGuard(bytesPerSecond: 1_000_000) { isBusy.withLock(\.self) }
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        #expect(rateGuard.delay(after: 500_000, now: start) == .zero)
        isBusy.withLock { $0 = true }
        #expect(rateGuard.delay(after: 100_000, now: start) == .milliseconds(100))
        #expect(rateGuard.delay(after: 200_000, now: start) == .milliseconds(300))
        #expect(rateGuard.delay(after: 100_000, now: start + .milliseconds(250)) == .milliseconds(150))
        // Unused capacity does not accumulate.
        #expect(rateGuard.delay(after: 100_000, now: start + .seconds(9)) == .milliseconds(100))
        isBusy.withLock { $0 = false }
        #expect(rateGuard.delay(after: 100_000, now: start + .seconds(9)) == .zero)
    }
}
