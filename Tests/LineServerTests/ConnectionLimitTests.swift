import BoundedWait
import Foundations
import Metering
import NIOCore
import Synchronization
import Testing

@testable import LineServer

@Suite("Connection limits", .timeLimit(.minutes(10)))
struct ConnectionLimitTests {
    static let inAll =
        #"{"jsonrpc":"2.0","method":"server.goodbye","params":{"code":"too_many_connections","#
        + #""message":"The server has as many connections in all as it takes.","reconnect":true}}"#
    static let fromAddress =
        #"{"jsonrpc":"2.0","method":"server.goodbye","params":{"code":"too_many_connections","#
        + #""message":"The server has as many connections from your address as it takes.","reconnect":true}}"#

    @Test("row 11: connections over the limit get the reason")
    func inAll() async throws {
        try await withServer(.test { $0.maxConnections = 2 }) { server in
            let first = try await server.connect()
            let session = try await server.sessions.next()
            let second = try await server.connect()
            for _ in 0..<10 {
                let refused = try await TestClient(server.address)
                // Its input is discarded, and does not prevent the reason from arriving.
                try? await refused.send(request(1) + "\n")
                #expect(try await refused.rest() == [Self.inAll])
            }
            #expect(try await second.call(request(1)) == answer(1))
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="in_all"} 10"#))
            #expect(server.metrics.text.contains("postline_connections 2\n"))
            try await first.close()
            try await session.closed.value()
            let third = try await Self.served(server)
            #expect(try await third.call(request(1)) == answer(1))
        }
    }

    @Test("row 11: limits and releases an IPv6 /64 network as one address")
    func fromOneNetwork() {
        var admissions = CountedAdmissions(maxConnections: 100, maxConnectionsPerAddress: 5)
        for host in 1...5 { #expect(admissions.admit(from: "2001:db8:1:2::\(host)") == .serve) }
        #expect(admissions.admit(from: "2001:db8:1:2:9:9:9:9") == .refuse(.fromAddress))
        #expect(admissions.admit(from: "2001:db8:1:3::1") == .serve)
        #expect(admissions.addressCount == 2)
        admissions.release("2001:db8:1:2::3")
        #expect(admissions.admit(from: "2001:db8:1:2::99") == .serve)
        #expect(admissions.admit(from: "2001:db8:1:2::98") == .refuse(.fromAddress))
        for host in [1, 2, 4, 5, 99] { admissions.release("2001:db8:1:2::\(host)") }
        admissions.release("2001:db8:1:3::1")
        #expect(admissions.addressCount == 0 && admissions.served == 0)
    }

    @Test("closes new connections of an address that opens them too quickly, and of no other")
    func tooOften() async throws {
        let rate = TokenBucket.Rate(tokens: 1, per: .seconds(3_600), burst: 2)
        try await withServer(.test { $0.newConnectionsPerAddress = rate }) { server in
            for _ in 0..<2 {
                let client = try await server.connect()
                #expect(try await client.call(request(1)) == answer(1))
                try await client.close()
            }
            #expect(try await TestClient(server.address).rest().isEmpty)
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="too_often"} 1"#))
        }
        // The address of a PROXY header.
        var admissions = CountedAdmissions(maxConnections: 10, maxConnectionsPerAddress: nil)
        for isTooOften in [false, true] {
            #expect(admissions.admit(from: nil) == .serve)
            let expected = isTooOften ? Admissions.Admission.refuse(.tooOften) : .serve
            #expect(admissions.assignAddress("192.0.2.1", isTooOften: isTooOften) == expected)
        }
        #expect(admissions.served == 1)
    }

    @Test("row 11: a full server gives an address with fewer connections one of the address with the most")
    func displaced() async throws {
        try await withServer(.test { $0.maxConnections = 4 }) { server in
            var crowd: [TestClient] = []
            for _ in 0..<4 { crowd.append(try await server.connect()) }
            let first = try await TestClient(server.address, from: "127.0.0.2")
            #expect(try await first.line()?.contains("server.hello") == true)
            let second = try await TestClient(server.address, from: "127.0.0.2")
            #expect(try await second.line()?.contains("server.hello") == true)
            // Both addresses have two now.
            for host in ["127.0.0.1", "127.0.0.2"] {
                #expect(try await TestClient(server.address, from: host).rest() == [Self.inAll])
            }
            #expect(try await first.call(request(1)) == answer(1))
            #expect(try await second.call(request(1)) == answer(1))
            var served = 0
            for client in crowd where (try? await client.call(request(2))) == answer(2) { served += 1 }
            #expect(served == 2)
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="displaced"} 2"#))
            #expect(server.metrics.text.contains("postline_connections 4\n"))
        }
    }

    @Test("of 10,000 random admissions, each displaces one of an address with the most")
    func largest() {
        var random = SystemRandomNumberGenerator()
        var admissions = CountedAdmissions(maxConnections: 50, maxConnectionsPerAddress: nil)
        for _ in 0..<10_000 {
            let address = "\(Int.random(in: 0..<20, using: &random))"
            let before = admissions.counts
            if Bool.random(using: &random), before[address] != nil {
                admissions.release(address)
                continue
            }
            let largest = before.values.max() ?? 0
            let isDisplacing = before.values.reduce(0, +) == 50
            let isServed = !isDisplacing || largest > before[address, default: 0] + 1
            #expect(admissions.admit(from: address) == (isServed ? .serve : .refuse(.inAll)))
            if !isServed { admissions.releaseRefused() }
            if isServed, isDisplacing {
                let loser = before.first { admissions.counts[$0.key, default: 0] < $0.value }
                #expect(loser?.value == largest && loser?.key != address)
            }
            #expect(admissions.served == admissions.counts.values.reduce(0, +))
        }
    }

    @Test("row 11: connections over an address's limit get the reason")
    func fromOneAddress() async throws {
        try await withServer(
            .test {
                $0.maxConnections = 5
                $0.maxConnectionsPerAddress = 2
            }
        ) { server in
            let first = try await server.connect()
            let session = try await server.sessions.next()
            let second = try await server.connect()
            for _ in 0..<10 { #expect(try await TestClient(server.address).rest() == [Self.fromAddress]) }
            let elsewhere = try await TestClient(server.address, from: "127.0.0.2")
            #expect(try await elsewhere.line()?.contains("server.hello") == true)
            #expect(try await elsewhere.call(request(1)) == answer(1))
            #expect(try await second.call(request(1)) == answer(1))
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="from_address"} 10"#))
            #expect(server.metrics.text.contains(#"postline_connections_rejected_total{reason="in_all"} 0"#))
            try await first.close()
            try await session.closed.value()
            let third = try await Self.served(server)
            #expect(try await third.call(request(1)) == answer(1))
        }
    }

    @Test("row 11: 200 concurrent connections of an address keep its limit")
    func allAtOnce() async throws {
        try await withServer(
            .test {
                $0.maxConnectionsPerAddress = 40
                $0.maxConnections = 60
            }
        ) { server in
            for _ in 0..<3 {
                let clients = try await withThrowingTaskGroup(of: (TestClient, String).self) { group in
                    for number in 0..<400 {
                        group.addTask {
                            let client = try await TestClient(
                                server.address, from: number % 2 == 0 ? "127.0.0.1" : "127.0.0.2")
                            return (client, try await client.line() ?? "")
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                // Some may have been displaced, before or after the greeting.
                try await eventually("60 connections") { server.metrics.text.contains("postline_connections 60\n") }
                #expect(clients.count { $0.1.contains("server.hello") } >= 60)
                #expect(
                    clients.allSatisfy { $0.1.contains("hello") || ["", Self.inAll, Self.fromAddress].contains($0.1) })
                #expect(server.context.addressCount == 2)
                for client in clients { try? await client.0.close() }
                try await eventually("their end") { server.metrics.text.contains("postline_connections 0\n") }
                #expect(server.context.addressCount == 0)
            }
        }
    }

    @Test("an address without connections is forgotten")
    func forgotten() {
        var admissions = CountedAdmissions(maxConnections: 100_000, maxConnectionsPerAddress: 1)
        for number in 0..<10_000 {
            #expect(admissions.admit(from: "\(number)") == .serve)
            #expect(admissions.admit(from: "\(number)") == .refuse(.fromAddress))
            admissions.releaseRefused()
        }
        #expect(admissions.addressCount == 10_000)
        for number in 0..<10_000 { admissions.release("\(number)") }
        #expect(admissions.addressCount == 0)
        #expect(admissions.served == 0)
        var unbounded = CountedAdmissions(maxConnections: 2, maxConnectionsPerAddress: nil)
        #expect(unbounded.admit(from: "a") == .serve)
        #expect(unbounded.admit(from: "a") == .serve)
        #expect(unbounded.admit(from: "a") == .refuse(.inAll))
        #expect(unbounded.addressCount == 1)
    }

    @Test("a later known address counts from then on")
    func located() {
        var admissions = CountedAdmissions(maxConnections: 3, maxConnectionsPerAddress: 1)
        #expect(admissions.admit(from: nil) == .serve)
        #expect(admissions.admit(from: nil) == .serve)
        #expect(admissions.admit(from: nil) == .serve)
        #expect(admissions.admit(from: nil) == .refuse(.inAll))
        #expect(admissions.assignAddress("a", isTooOften: false) == .serve)
        #expect(admissions.assignAddress("a", isTooOften: false) == .refuse(.fromAddress))
        #expect(admissions.served == 2)
        #expect(admissions.admit(from: "a") == .refuse(.fromAddress))
        #expect(admissions.admit(from: "b") == .serve)
        admissions.release("a")
        admissions.release(nil)
        admissions.release("b")
        #expect(admissions.served == 0)
        #expect(admissions.addressCount == 0)
    }

    @Test("a flood over the limit gets a thousand goodbyes, then closes")
    func flood() {
        var admissions = CountedAdmissions(maxConnections: 1, maxConnectionsPerAddress: nil)
        #expect(admissions.admit(from: "a") == .serve)
        for _ in 0..<1_024 { #expect(admissions.admit(from: "a") == .refuse(.inAll)) }
        #expect(admissions.admit(from: "a") == .drop(.inAll))
        admissions.releaseRefused()
        #expect(admissions.admit(from: "a") == .refuse(.inAll))
        admissions.release("a")
        #expect(admissions.admit(from: "a") == .serve)
    }

    @Test(
        "an IPv4-mapped IPv6 address is the IPv4 address",
        arguments: [
            ("::ffff:192.0.2.1", "192.0.2.1"), ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"),
            ("::1", "::1"), ("64:ff9b::c000:201", "64:ff9b::c000:201"),
        ])
    func mapped(_ address: String, _ peer: String) throws {
        #expect(try SocketAddress(ipAddress: address, port: 1).peer == peer)
    }

    /// Connects a client, once the server has noticed the free slot.
    private static func served(_ server: RunningServer) async throws -> TestClient {
        try await eventually("room for a client") {
            let client = try await TestClient(server.address)
            return try await client.line()?.contains("server.hello") == true ? client : nil
        }
    }
}

/// Admissions that number their connections.
private struct CountedAdmissions {
    private final class Closed: Sendable {
        let numbers = Mutex<[Int]>([])
    }

    private var admissions: Admissions
    private var addresses: [Int: String?] = [:]
    private var numbers: [String?: Set<Int>] = [:]
    private var last = 0
    private let closed = Closed()

    init(maxConnections: Int, maxConnectionsPerAddress: Int?) {
        admissions = Admissions(maxConnections: maxConnections, maxConnectionsPerAddress: maxConnectionsPerAddress)
    }

    var served: Int { admissions.served }

    var addressCount: Int { admissions.addressCount }

    /// The number of served connections of each address.
    var counts: [String: Int] {
        numbers.reduce(into: [:]) { counts, entry in
            if let address = entry.key, !entry.value.isEmpty { counts[address] = entry.value.count }
        }
    }

    private mutating func set(_ address: String?, of number: Int) {
        addresses[number] = .some(address)
        numbers[address, default: []].insert(number)
    }

    private mutating func forget(_ number: Int) -> String?? {
        guard let address = addresses.removeValue(forKey: number) else { return nil }
        numbers[address]?.remove(number)
        return .some(address)
    }

    mutating func admit(from address: String?) -> Admissions.Admission {
        last += 1
        let (admission, displaced) = admissions.admit(last, from: address, close: close(last))
        if admission == .serve { set(address, of: last) }
        displaced?()
        for number in closed.numbers.withLock({ numbers in
            defer { numbers = [] }
            return numbers
        }) {
            // The release of a displaced connection changes nothing.
            if let address = forget(number) { admissions.release(number, of: address) }
        }
        return admission
    }

    /// Assigns an address to one of the connections that have none.
    mutating func assignAddress(_ address: String, isTooOften: Bool) -> Admissions.Admission {
        guard let number = numbers[nil]?.first else { return .drop(.inAll) }
        let admission = admissions.assignAddress(
            address, of: number, isTooOften: isTooOften, close: close(number))
        _ = forget(number)
        if admission == .serve { set(address, of: number) }
        return admission
    }

    /// Releases one of the address's connections.
    mutating func release(_ address: String?) {
        guard let number = numbers[address]?.first else { return }
        _ = forget(number)
        admissions.release(number, of: address)
    }

    mutating func releaseRefused() { admissions.releaseRefused() }

    private func close(_ number: Int) -> Admissions.Close {
        { [closed] in closed.numbers.withLock { $0.append(number) } }
    }
}
