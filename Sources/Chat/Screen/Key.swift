/// A pressed key, or pasted text.
enum Key: Sendable, Equatable {
    case text(String)
    case paste(String)
    case enter
    case newLine
    case backspace
    case delete
    case deleteWord
    case deleteToStart
    case deleteToEnd
    case left
    case right
    case wordLeft
    case wordRight
    case home
    case end
    case up
    case down
    case pageUp
    case pageDown
    case tab
    case backTab
    case escape
    case next
    case previous
    case redraw
    case suspend
    case interrupt
    /// Alt with a digit from 1 to 9.
    case number(Int)
}

/// Parses the bytes of a terminal into keys, in pieces of any size.
struct KeyParser: Sendable {
    private var held: [UInt8] = []
    private var pasted: [UInt8]?

    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    /// Parses bytes and returns the complete keys.
    ///
    /// A single escape byte at the end is the Escape key: terminals write their sequences in one piece.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [Key] {
        held += bytes
        var keys: [Key] = []
        var index = 0
        while index < held.count {
            if pasted != nil {
                guard takePaste(&index, &keys) else { break }
                continue
            }
            guard let (key, count) = key(at: index) else { break }
            if case .paste? = key { pasted = [] } else if let key { keys.append(key) }
            index += count
        }
        held.removeFirst(index)
        return keys
    }

    /// Collects pasted bytes up to the end mark. Returns false if the mark has not arrived yet.
    private mutating func takePaste(_ index: inout Int, _ keys: inout [Key]) -> Bool {
        let rest = held[index...]
        var cut = rest.startIndex
        while cut < rest.endIndex {
            if rest[cut...].starts(with: Self.pasteEnd) {
                let text = String(decoding: (pasted ?? []) + rest[..<cut], as: UTF8.self)
                pasted = nil
                index = cut + Self.pasteEnd.count
                keys.append(
                    .paste(
                        text.split(separator: "\r\n", omittingEmptySubsequences: false).joined(separator: "\n")
                            .replacing("\r", with: "\n")))
                return true
            }
            // A possible start of the end mark is examined again with the next bytes.
            if Self.pasteEnd.starts(with: rest[cut...]) { break }
            cut += 1
        }
        pasted?.append(contentsOf: rest[..<cut])
        index = cut
        return false
    }

    /// Returns the key at `index` and its length, or nil if it is incomplete. The key is nil for an unknown sequence.
    private func key(at index: Int) -> (Key?, Int)? {
        let byte = held[index]
        switch byte {
        case 0x1B: return escape(at: index)
        case 0x0D: return (.enter, 1)
        case 0x0A: return (.newLine, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0x01: return (.home, 1)
        case 0x02: return (.left, 1)
        case 0x03: return (.interrupt, 1)
        case 0x04: return (.delete, 1)
        case 0x05: return (.end, 1)
        case 0x06: return (.right, 1)
        case 0x0B: return (.deleteToEnd, 1)
        case 0x0C: return (.redraw, 1)
        case 0x0E: return (.next, 1)
        case 0x10: return (.previous, 1)
        case 0x15: return (.deleteToStart, 1)
        case 0x17: return (.deleteWord, 1)
        case 0x1A: return (.suspend, 1)
        case 0x00...0x1F: return (nil, 1)
        case 0x20...0x7E: return (.text(String(Unicode.Scalar(byte))), 1)
        default: return character(at: index)
        }
    }

    private func character(at index: Int) -> (Key?, Int)? {
        let count: Int
        switch held[index] {
        case 0xC2...0xDF: count = 2
        case 0xE0...0xEF: count = 3
        case 0xF0...0xF4: count = 4
        default: return (nil, 1)
        }
        guard index + count <= held.count else { return nil }
        let text = String(decoding: held[index..<(index + count)], as: UTF8.self)
        return text.contains("\u{FFFD}") ? (nil, 1) : (.text(text), count)
    }

    private func escape(at index: Int) -> (Key?, Int)? {
        guard index + 1 < held.count else { return (.escape, 1) }
        switch held[index + 1] {
        case UInt8(ascii: "["):
            // Parameters, followed by one byte that names the key.
            var end = index + 2
            while end < held.count, !(0x40...0x7E ~= held[end]) { end += 1 }
            guard end < held.count else { return nil }
            let parameters = String(decoding: held[(index + 2)..<end], as: UTF8.self)
            return (Self.sequence(parameters, held[end]), end - index + 1)
        case UInt8(ascii: "O"):
            guard index + 2 < held.count else { return nil }
            return (Self.sequence("", held[index + 2]), 3)
        case 0x0D, 0x0A: return (.newLine, 2)
        case 0x7F, 0x08: return (.deleteWord, 2)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): return (.number(Int(held[index + 1] - UInt8(ascii: "0"))), 2)
        case UInt8(ascii: "b"): return (.wordLeft, 2)
        case UInt8(ascii: "f"): return (.wordRight, 2)
        case 0x1B: return (.escape, 1)
        default: return (nil, 2)
        }
    }

    private static func sequence(_ parameters: String, _ final: UInt8) -> Key? {
        // "1;5" is the key with Ctrl, "1;3" with Alt.
        let isWord = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
        switch final {
        case UInt8(ascii: "A"): return .up
        case UInt8(ascii: "B"): return .down
        case UInt8(ascii: "C"): return isWord ? .wordRight : .right
        case UInt8(ascii: "D"): return isWord ? .wordLeft : .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "Z"): return .backTab
        case UInt8(ascii: "~"):
            switch parameters {
            case "1", "7": return .home
            case "4", "8": return .end
            case "3": return .delete
            case "5": return .pageUp
            case "6": return .pageDown
            case "200": return .paste("")
            default: return nil
            }
        default: return nil
        }
    }
}
