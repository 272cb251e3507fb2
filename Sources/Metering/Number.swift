import Synchronization

/// A number that many threads add to without a lock.
final class Number: Sendable {
    private let bits: Atomic<UInt64>

    init(_ value: Double = 0) { bits = Atomic(value.bitPattern) }

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ difference: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + difference).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }
}
