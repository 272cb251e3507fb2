/// An index of values and their sizes, bounded in bytes. The least recently used values are evicted first.
struct LRUIndex<Key: Hashable & Sendable>: Sendable {
    private let maxBytes: Int
    private var entries: [Key: (bytes: Int, use: Int)] = [:]
    private var lastUse = 0
    private(set) var totalBytes = 0

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Adds a value or replaces its size, and returns the keys to evict. A value that is larger than the bound is evicted
    /// itself.
    mutating func insert(_ key: Key, bytes: Int) -> [Key] {
        remove(key)
        guard bytes <= maxBytes else { return [key] }
        lastUse += 1
        entries[key] = (bytes, lastUse)
        totalBytes += bytes
        var evicted: [Key] = []
        while totalBytes > maxBytes, let oldest = entries.min(by: { $0.value.use < $1.value.use })?.key {
            remove(oldest)
            evicted.append(oldest)
        }
        return evicted
    }

    /// Records a use of a value.
    mutating func touch(_ key: Key) {
        lastUse += 1
        entries[key]?.use = lastUse
    }

    mutating func remove(_ key: Key) {
        if let entry = entries.removeValue(forKey: key) { totalBytes -= entry.bytes }
    }
}
