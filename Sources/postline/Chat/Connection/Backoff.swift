/// How long to wait before each next attempt: twice as long as before, up to a bound, and scattered, so that the
/// clients of a server that went away do not all come back in the same moment.
struct Backoff: Sendable {
    private let first: Double
    private let most: Double
    private var attempts = 0

    /// - Parameters: in seconds.
    init(first: Double = 0.25, most: Double = 15) {
        self.first = first
        self.most = most
    }

    /// The seconds to wait now: between half of the bound of this attempt and the whole of it.
    mutating func next(using random: inout some RandomNumberGenerator) -> Double {
        let bound = min(most, first * Double(1 << min(attempts, 16)))
        attempts += 1
        return Double.random(in: (bound / 2)...bound, using: &random)
    }

    mutating func next() -> Double {
        var random = SystemRandomNumberGenerator()
        return next(using: &random)
    }

    /// An attempt succeeded.
    mutating func reset() { attempts = 0 }
}
