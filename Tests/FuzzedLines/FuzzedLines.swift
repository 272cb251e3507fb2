/// A generator of hostile lines, repeatable by its seed.
///
/// It mixes valid requests of every method, the same with other params and with changed bytes, JSON tokens in any order,
/// nesting, batches, random bytes, and rarely a line over the limit.
package struct FuzzedLines: Sendable {
    /// A method with a valid JSON value for each parameter.
    package struct Method: Sendable {
        let name: String
        let params: [(name: String, value: String)]

        package init(_ name: String, _ params: [(name: String, value: String)]) {
            self.name = name
            self.params = params
        }
    }

    /// The seed of all lines.
    package let seed: UInt64

    private let methods: [Method]
    private let maxLineBytes: Int
    private var random: RandomSource

    /// - Parameter maxLineBytes: The limit that only few lines exceed.
    package init(seed: UInt64, methods: [Method], maxLineBytes: Int = 65_536) {
        self.seed = seed
        self.methods = methods
        self.maxLineBytes = maxLineBytes
        random = RandomSource(state: seed)
    }

    /// Returns the next line without its line end.
    package mutating func next() -> [UInt8] {
        let line: [UInt8] =
            switch random.roll(100) {
            case 0..<15: Array(request().utf8)
            case 15..<55: changed(Array(request().utf8))
            case 55..<75: tokens(1 + random.roll(40))
            case 75..<80: nesting()
            case 80..<88: Array(batch().utf8)
            case 88..<89: random.roll(40) == 0 ? overlong() : []
            default: (0..<random.roll(60)).map { _ in UInt8(random.roll(256)) }
            }
        return line.filter { $0 != UInt8(ascii: "\n") }
    }

    /// Returns the next lines as one stream, with line ends of either kind.
    package mutating func stream(of count: Int) -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<count {
            stream += next()
            if random.roll(8) == 0 { stream.append(UInt8(ascii: "\r")) }
            stream.append(UInt8(ascii: "\n"))
        }
        return stream
    }

    /// Returns sizes of pieces to cut a stream into: a few bytes, many, or both.
    package mutating func pieces() -> [Int] {
        let largest = [3, 40, 500, 5_000, 65_536]
        let isMixed = random.roll(3) == 0
        let one = largest[random.roll(largest.count)]
        return (0..<7).map { _ in 1 + random.roll(isMixed ? largest[random.roll(largest.count)] : one) }
    }
}

extension FuzzedLines {
    private static let values = [
        "null", "true", "0", "-1", "1", "1.5", "-0", "1e2", "1e131071", "9223372036854775807", "9223372036854775808",
        "\"\"", "\"x\"", "\"é😀\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "[]", "{}", "[null]",
        "{\"a\":1,\"a\":2}", "\"00000000-0000-4000-8000-00000000dead\"", "\"'; drop table messages; --\"", "\"%_\\\\\"",
    ]

    private static let pieces =
        values + [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\"jsonrpc\"", "\"2.0\"", "\"jsonrpc\":\"2.0\"", "\"method\"",
            "\"params\"", "\"id\"", "\"id\":", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", " ", "\t", "\r", "NaN",
            "01",
            "+1", ".5", "1.", "1e", "tru", "\u{FEFF}", "\u{202E}", "\u{0}", "//", "'",
        ]

    private mutating func request() -> String {
        let method = methods[random.roll(methods.count)]
        // A method with ten params would hardly ever be called with valid ones otherwise.
        let isValid = random.roll(3) == 0
        var params: [String] = []
        for param in method.params where isValid || random.roll(6) > 0 {
            let value = isValid || random.roll(4) > 0 ? param.value : Self.values[random.roll(Self.values.count)]
            params.append("\"\(param.name)\":\(value)")
        }
        if random.roll(20) == 0 { params.append("\"unknown\":1") }
        let id = ["1", "\"x\"", "null", "-0", "1e400", "2.5", "[]"][random.roll(random.roll(4) == 0 ? 7 : 3)]
        return "{\"jsonrpc\":\"2.0\"," + (random.roll(12) == 0 ? "" : "\"id\":\(id),")
            + "\"method\":\"\(method.name)\",\"params\":{\(params.joined(separator: ","))}}"
    }

    private mutating func batch() -> String {
        let count = random.roll(20) == 0 ? 45 + random.roll(10) : random.roll(6)
        let elements = (0..<count).map { _ in
            random.roll(10) == 0 ? Self.values[random.roll(Self.values.count)] : request()
        }
        return "[\(elements.joined(separator: ","))]"
    }

    private mutating func changed(_ line: [UInt8]) -> [UInt8] {
        var line = line
        for _ in 0...random.roll(3) {
            let place = random.roll(line.count + 1)
            let end = min(line.count, place + random.roll(12))
            switch random.roll(6) {
            case 0 where place < line.count: line[place] ^= 1 << UInt8(random.roll(8))
            case 1: line.insert(UInt8(random.roll(256)), at: place)
            case 2: line.removeSubrange(place..<end)
            case 3: line.insert(contentsOf: Array(line[place..<end]), at: place)
            case 4: line.replaceSubrange(place..<end, with: piece())
            default: line.insert(contentsOf: piece(), at: place)
            }
        }
        return line
    }

    private mutating func tokens(_ count: Int) -> [UInt8] {
        var line: [UInt8] = []
        for _ in 0..<count { line += piece() }
        return line
    }

    private mutating func piece() -> [UInt8] { Array(Self.pieces[random.roll(Self.pieces.count)].utf8) }

    /// Returns nesting near the allowed depth, rarely as deep as a line can hold.
    private mutating func nesting() -> [UInt8] {
        let depth = random.roll(100) == 0 ? maxLineBytes / 12 : 100 + random.roll(60)
        let isArray = random.roll(2) == 0
        let open = String(repeating: isArray ? "[" : "{\"a\":", count: depth)
        let close = String(repeating: isArray ? "]" : "}", count: random.roll(3) == 0 ? random.roll(depth) : depth)
        let whole = open + "1" + close
        let asParam = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"me.update\",\"params\":{\"preferences\":\(whole)}}"
        return Array((random.roll(2) == 0 ? whole : asParam).utf8)
    }

    private mutating func overlong() -> [UInt8] {
        [UInt8](repeating: UInt8(ascii: "\""), count: maxLineBytes - 2 + random.roll(5))
    }
}

/// A generator that repeats its numbers for the same seed (SplitMix64).
private struct RandomSource: Sendable {
    var state: UInt64

    /// Returns a number from 0 to `sides` - 1.
    mutating func roll(_ sides: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, sides)))
    }
}
