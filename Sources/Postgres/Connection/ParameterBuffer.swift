import Foundations

/// Text values as C strings in reusable memory, as libpq needs them.
struct ParameterBuffer: ~Copyable {
    private var bytes: [UInt8] = []
    /// The offset of each value in `bytes`; nil is SQL null.
    private var offsets: [Int?] = []

    /// The number of values.
    var count: Int { offsets.count }

    /// Removes the values, and frees the memory after large ones.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
        offsets.removeAll(keepingCapacity: true)
    }

    /// Appends a value, unless it contains a NUL character, which would end the C string.
    ///
    /// - Returns: true if it was appended.
    mutating func append(_ value: String?) -> Bool {
        guard var value else {
            offsets.append(nil)
            return true
        }
        let start = bytes.count
        let isWhole = value.withUTF8 { text in
            if let base = text.baseAddress, unsafe memchr(base, 0, text.count) != nil { return false }
            unsafe bytes.append(contentsOf: text)
            return true
        }
        guard isWhole else { return false }
        bytes.append(0)
        offsets.append(start)
        return true
    }

    /// Passes pointers to the values in `range` to `body`. They are valid during the call.
    func withPointers<Value>(
        _ range: Range<Int>, _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: range.count) { pointers in
                for (place, offset) in offsets[range].enumerated() {
                    // In bounds: an offset was the end of the bytes before its value and a NUL were put there.
                    // There is at least that NUL, so the buffer has an address.
                    // swift-format-ignore: NeverForceUnwrap
                    unsafe pointers.initializeElement(
                        at: place,
                        to: offset.map { unsafe (bytes.baseAddress! + $0).assumingMemoryBound(to: CChar.self) })
                }
                return unsafe body(UnsafePointer(pointers.baseAddress))
            }
        }
    }
}
