#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Text values laid out as libpq wants them: C strings, one after another, in memory that is used again.
struct ParameterBuffer: ~Copyable {
    private var bytes: [UInt8] = []
    /// Where each value begins in `bytes`; nil is SQL null.
    private var offsets: [Int?] = []

    /// How many values there are.
    var count: Int { offsets.count }

    /// Forgets the values; after large ones their memory too.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
        offsets.removeAll(keepingCapacity: true)
    }

    /// Adds a value, unless it holds a NUL character, at which a C string would end.
    ///
    /// - Returns: Whether it was added.
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

    /// Gives `body` the pointers to the values in `range`; they are good for the call.
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
