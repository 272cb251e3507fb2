@testable import Foundations
import Testing

@Suite("Address key")
struct AddressKeyTests {
    @Test(
        "is an IPv4 address or an IPv6 network of 64 bits",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2::", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::9", "2001:db8:1:2::/64"), ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
            ("2001:db8::1:2:3:4", "2001:db8::/64"), ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
            ("2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"), ("1::2:3:4:5:6:7", "1:0:2:3::/64"),
            ("::", "::/64"), ("::1", "::/64"), ("fe80::1", "fe80::/64"), ("fe80::1%eth0", "fe80::/64"),
            ("2001:0DB8:1:2:0:0:0:0", "2001:db8:1:2::/64"), ("::FFFF:c000:0201", "192.0.2.1"),
            ("::192.0.2.1", "::/64"), ("64:ff9b::192.0.2.1", "64:ff9b::/64"),
            ("", ""), ("unknown", "unknown"), ("a:b", "a:b"), ("x::y", "x::y"),
        ])
    func keys(address: String, key: String) {
        #expect(AddressKey(address).description == key)
    }

    @Test("is equal within an IPv6 network only")
    func networks() {
        let keys = Set((0..<1_000).map { AddressKey("2001:db8:7:8:\(String($0, radix: 16))::1") })
        #expect(keys == [AddressKey("2001:db8:7:8::")])
        #expect(AddressKey("2001:db8:7:9::1") != AddressKey("2001:db8:7:8::1"))
        #expect(AddressKey("192.0.2.1") != AddressKey("192.0.2.2"))
    }
}
