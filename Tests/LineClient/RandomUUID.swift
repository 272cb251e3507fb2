/// Returns a random UUID (version 4) in lower case, as the protocol writes ids, for a message's `client_id`.
package func randomUUID() -> String {
    var random = SystemRandomNumberGenerator()
    let high = random.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return unsafe String(unsafeUninitializedCapacity: 36) { text in
        var count = 0
        for digit in 0..<32 {
            if [8, 12, 16, 20].contains(digit) {
                unsafe text[count] = UInt8(ascii: "-")
                count += 1
            }
            let half = digit < 16 ? high : low
            let value = UInt8(half >> UInt64((15 - digit % 16) * 4) & 15)
            unsafe text[count] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
            count += 1
        }
        return count
    }
}
