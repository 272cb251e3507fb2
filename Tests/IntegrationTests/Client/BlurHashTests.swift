import Postline
import Testing

@Suite("BlurHash")
struct BlurHashTests {
    /// The pixels are those of the reference algorithm (<https://github.com/woltapp/blurhash>), by its Python port
    /// `blurhash` 1.1.5.
    @Test(
        "decodes as the reference algorithm",
        arguments: [
            (
                "LEHV6nWB2yk8pyo0adR*.7kCMdnj", 4, 3,
                [
                    135, 164, 177, 255, 161, 173, 177, 255, 181, 180, 171, 255, 160, 172, 174, 255, 124, 154, 169, 255,
                    148, 148, 154, 255, 164, 145, 134, 255, 146, 152, 155, 255, 124, 144, 154, 255, 144, 134, 132, 255,
                    163, 130, 104, 255, 148, 140, 134, 255,
                ]
            ),
            (
                "LGF5]+Yk^6#M@-5c,1J5@[or[Q6.", 3, 2,
                [
                    176, 118, 163, 255, 155, 116, 187, 255, 136, 82, 135, 255, 137, 155, 177, 255, 47, 142, 190, 255,
                    140, 117, 65, 255,
                ]
            ),
            ("00OZZy", 2, 1, [213, 30, 120, 255, 213, 30, 120, 255]),
        ] as [(String, Int, Int, [UInt8])])
    func decodes(_ text: String, _ width: Int, _ height: Int, _ expected: [UInt8]) throws {
        let pixels = try #require(BlurHash(text)?.pixels(width: width, height: height))
        #expect(pixels.count == expected.count)
        // Other mathematical libraries may round differently.
        #expect(zip(pixels, expected).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(pixels)")
    }

    @Test(
        "refuses invalid texts",
        arguments: [
            "", "L00", "00OZZ", "00OZZy0", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "LEHV6nWB2yk8pyo0adR*.7kCMdn\"",
            "LEHV6nWB2yk8pyo0adR*.7kCMdn~~", "~~~~~~", "00~~~~", "10OZZy~~", "00OZZä", "\u{0}0OZZy",
        ])
    func refuses(_ text: String) { #expect(BlurHash(text) == nil) }

    @Test("refuses sizes out of range", arguments: [(0, 1), (1, 0), (-1, 4), (1_025, 1)])
    func sizes(_ width: Int, _ height: Int) {
        #expect(BlurHash("00OZZy")?.pixels(width: width, height: height) == nil)
    }
}
