import Foundations

/// Returns the seed of a random test: `POSTLINE_TEST_SEED`, to replay a failed run, or a random one.
package func testSeed() -> UInt64 {
    guard let text = unsafe getenv("POSTLINE_TEST_SEED"), let seed = UInt64(unsafe String(cString: text)) else {
        return .random(in: 0 ... .max)
    }
    return seed
}

/// True under a sanitizer (`scripts/test-sanitized`), where each line costs many times as much.
package var isSanitized: Bool { unsafe getenv("POSTLINE_PART") != nil }
