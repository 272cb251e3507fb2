import Foundation
import Foundations
@testable import HTTPServing
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@Suite("Transfer rate guard")
struct TransferRateGuardTests {
    private let one = AddressKey("192.0.2.1")
    private let other = AddressKey("192.0.2.2")
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("transfers share one rate while the server is busy, and are unlimited otherwise")
    func shared() {
        let isBusy = Mutex(false)
        let rateGuard = TransferRateGuard(bytesPerSecond: 1_000_000) { isBusy.withLock(\.self) }
        #expect(rateGuard.delay(after: 500_000, of: one, now: start) == .zero)
        isBusy.withLock { $0 = true }
        #expect(rateGuard.delay(after: 100_000, of: one, now: start) == .milliseconds(100))
        #expect(rateGuard.delay(after: 200_000, of: one, now: start) == .milliseconds(300))
        #expect(rateGuard.delay(after: 100_000, of: one, now: start + .milliseconds(250)) == .milliseconds(150))
        // Unused capacity does not accumulate.
        #expect(rateGuard.delay(after: 100_000, of: one, now: start + .seconds(9)) == .milliseconds(100))
        isBusy.withLock { $0 = false }
        #expect(rateGuard.delay(after: 100_000, of: one, now: start + .seconds(9)) == .zero)
    }

    @Test("addresses have equal shares of the rate, and none delays another")
    func fair() {
        let rateGuard = TransferRateGuard(bytesPerSecond: 1_000_000) { true }
        for _ in 0..<1_000 { _ = rateGuard.delay(after: 256_000, of: one, now: start) }
        #expect(rateGuard.delay(after: 100_000, of: other, now: start) == .milliseconds(200))
        #expect(rateGuard.delay(after: 100_000, of: one, now: start) == TransferRateGuard.maxDelay)
        // An address without transfers has no share.
        #expect(rateGuard.delay(after: 100_000, of: other, now: start + .seconds(9)) == .milliseconds(100))
    }

    @Test("a download while the server is busy has at most the rate of all")
    func download() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bytes = 16 << 20
        try Data(count: bytes).write(to: URL(filePath: path))
        try await withHTTPServer(of: FileHandler(path: path), isBusy: { true }) { port in
            let start = ContinuousClock.now
            let client = try await SlowReader(port: port)
            #expect(try await client.readToEnd() > bytes)
            // All but the first piece, at 128 MiB per second.
            #expect(ContinuousClock.now - start > .milliseconds(120))
        }
    }
}

/// A handler that responds with a file.
private struct FileHandler: HTTPRequestHandler {
    let path: String

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response = HTTPResponse(.ok)
        response.file = try? HTTPFile(path: path)
        return response
    }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(error.status, text: error.message)
    }

    func close() async {}
}
