extension Dictionary where Value == Int {
    /// Subtracts from the count of a key, and removes the key at zero.
    ///
    /// Inlinable, so that it is specialized in other modules: each send and request calls it.
    @inlinable package mutating func subtract(_ amount: Int = 1, from key: Key) {
        let left = self[key, default: 0] - amount
        self[key] = left > 0 ? left : nil
    }
}
