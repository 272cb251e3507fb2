/// A generator that repeats its numbers for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns an independent generator for a concurrent user.
    mutating func branch() -> SeededRandom { SeededRandom(next()) }

    /// Returns true in the given percentage of calls.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// Returns one of several choices by weight.
    mutating func choose<Choice>(_ choices: [(weight: Int, choice: Choice)]) -> Choice {
        var left = Int.random(in: 0..<choices.reduce(0) { $0 + $1.weight }, using: &self)
        for (weight, choice) in choices {
            left -= weight
            if left < 0 { return choice }
        }
        preconditionFailure("the weights sum up to more than the number that was drawn")
    }

    /// Returns a new id.
    mutating func uuid() -> String {
        let digits = [next(), next()].map { number in
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        let parts = [0..<8, 8..<12, 13..<16, 17..<20, 20..<32].map { range in
            String(digits.dropFirst(range.lowerBound).prefix(range.count))
        }
        return "\(parts[0])-\(parts[1])-4\(parts[2])-8\(parts[3])-\(parts[4])"
    }
}
