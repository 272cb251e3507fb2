import Foundation

/// The protocol's JSON coding: timestamps are RFC 3339 in UTC with microseconds.
enum WireJSON {
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            guard let date = date(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a timestamp")
            }
            return date
        }
        return try decoder.decode(type, from: data)
    }

    /// Encodes params, which contain no timestamps.
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    /// Parses `2026-11-20T10:00:00.000000Z` with any number of fractional digits. Returns nil for other text.
    static func date(_ text: String) -> Date? {
        var bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.removeLast() == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for byte in bytes[range] {
                guard 0x30...0x39 ~= byte else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            1...12 ~= month
        else { return nil }
        var fraction = 0.0
        if bytes.count > 20 {
            guard bytes[19] == UInt8(ascii: "."), let digits = number(20..<min(bytes.count, 29)) else { return nil }
            fraction = Double(digits) / (20..<min(bytes.count, 29)).reduce(1) { scale, _ in scale * 10 }
        }
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar. The year begins in March here, so that a leap day
    /// is its last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
