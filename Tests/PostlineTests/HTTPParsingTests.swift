@testable import HTTPServing
import NIOCore
import NIOHTTP1
import Testing

@testable import Gateway

@Suite("HTTP request parser")
struct HTTPParsingTests {
    // E33.
    @Test(
        "matches a trusted network in every form of its addresses",
        arguments: [
            ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("::ffff:127.0.0.1", "127.0.0.1", true), ("::ffff:7f00:1", "127.0.0.1", true),
            ("10.0.0.0/8", "::ffff:10.9.9.9", true), ("::ffff:10.0.0.0/104", "10.9.9.9", true),
            ("::ffff:10.0.0.0/104", "::ffff:a09:909", true), ("::1", "0:0:0:0:0:0:0:1", true),
            ("FD00::/8", "fd12::1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:11.0.0.1", false),
            ("127.0.0.1", "::127.0.0.1", false), ("127.0.0.1", "::1", false), ("::/0", "127.0.0.1", false),
        ])
    func trustedNetworks(_ networks: String, _ peer: String, _ isTrusted: Bool) throws {
        let proxies = try #require(TrustedProxies(networks))
        let client = proxies.clientAddress(from: peer, ["X-Forwarded-For": "2001:DB8:0::7"])
        #expect((client == "2001:db8::7") == isTrusted)
    }

    @Test(
        "rejects invalid networks",
        arguments: ["::ffff:10.0.0.0/8", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "a"])
    func wrongNetworks(_ text: String) { #expect(TrustedProxies(text) == nil) }

    // E33.
    @Test(
        "the last address that is no trusted proxy is the client's",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("192.0.2.1, ::ffff:10.1.1.1", "192.0.2.1"),
            ("[::ffff:192.0.2.1]:4711, 10.1.1.1", "192.0.2.1"), ("192.0.2.1:4711", "192.0.2.1"),
            ("nonsense, 10.1.1.1", "10.1.1.1"), ("", "10.0.0.1"),
        ])
    func clients(_ chain: String, _ client: String) throws {
        let proxies = try #require(TrustedProxies("10.0.0.0/8"))
        #expect(proxies.clientAddress(from: "::ffff:10.0.0.1", ["X-Forwarded-For": chain]) == client)
    }

    @Test(
        "chooses the content coding that the client prefers",
        arguments: [
            ("gzip", "gzip"), ("deflate", "deflate"), ("gzip, deflate", "gzip"), ("deflate, gzip;q=0.5", "deflate"),
            ("GZIP", "gzip"), ("x-gzip", "gzip"), ("*", "gzip"), ("*;q=0", nil), ("gzip;q=0", nil),
            ("gzip;q=0, *", "deflate"), ("gzip ; q=0.001", "gzip"), ("gzip;q=a", nil), ("br", nil), ("identity", nil),
            ("", nil), ("gzipped", nil),
        ] as [(String, String?)])
    func codings(_ accepted: String, _ coding: String?) {
        #expect(ContentCoding(acceptedBy: ["Accept-Encoding": accepted])?.rawValue == coding)
    }

    @Test("a target has at most 32 segments and 64 fields")
    func largeTargets() throws {
        func target(_ segments: Int, _ fields: Int) -> RequestTarget? {
            let path = String(repeating: "/s", count: segments)
            return RequestTarget(path + "/?" + (0..<fields).map { "f\($0)=1" }.joined(separator: "&"))
        }
        let largest = try #require(target(32, 64))
        #expect((largest.segments.count, largest.query.count) == (32, 64))
        #expect(target(33, 0) == nil)
        #expect(target(1, 65) == nil)
        #expect(target(7_000, 0) == nil)
        #expect(RequestTarget("/?" + String(repeating: "a&", count: 7_000)) == nil)
    }

    @Test(
        "finds repeated query fields in any encoding",
        arguments: [
            ("/a?b=1&c=2", nil), ("/a?b=1&b=1", "b"), ("/a?b=1&%62=2", "b"), ("/a?b&b", "b"), ("/a?B=1&b=2", nil),
            ("/a?x+y=1&x%20y=2", "x y"), ("/a?", nil),
        ] as [(String, String?)])
    func repeatedFields(_ target: String, _ name: String?) throws {
        #expect(try #require(RequestTarget(target)).repeatedField == name)
    }
}
