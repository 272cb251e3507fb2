#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The seed of a random test: that of `POSTLINE_TEST_SEED`, which replays a run that failed, else any.
public func testSeed() -> UInt64 {
    guard let text = unsafe getenv("POSTLINE_TEST_SEED"), let seed = UInt64(unsafe String(cString: text)) else {
        return .random(in: 0 ... .max)
    }
    return seed
}

/// True under a sanitizer (`scripts/test-sanitized`), which makes each line many times as expensive.
public var isSanitized: Bool { unsafe getenv("POSTLINE_PART") != nil }
