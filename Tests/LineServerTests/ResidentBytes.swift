import Foundations
import FuzzedLines

/// Returns the memory in use by the process. Nil if unknown, and under a sanitizer, whose memory grows with each byte
/// touched.
func residentBytes() -> Int? {
    #if os(Linux)
    if isSanitized { return nil }
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return nil }
    defer { unsafe fclose(file) }
    var text = [CChar](repeating: 0, count: 200)
    // The text is shorter than the array, which ends with a zero.
    guard unsafe fgets(&text, 199, file) != nil else { return nil }
    let fields = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
        separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * 4_096 } : nil
    #else
    return nil
    #endif
}
