@testable import Foundations
@testable import Postgres
import Testing

// A3
@Suite struct FairQueueTests {
    private func owner(_ element: String) -> RequestOwner { RequestOwner(String(element.prefix(1))) }

    @Test("serves owners in turn, each in order of arrival")
    func turns() {
        var queue = FairQueue<String>()
        for element in ["a1", "a2", "a3", "b1", "c1", "b2"] { queue.append(element, of: owner(element)) }
        var served: [String] = []
        while let next = queue.popFirst() { served.append(next) }
        #expect(served == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(queue.count == 0)
    }

    @Test("delays others by one element for an owner with a long queue", arguments: [1, 10, 5_000])
    func longLine(length: Int) {
        var queue = FairQueue<Int>()
        for number in 0..<length { queue.append(number, of: "offender") }
        queue.append(-1, of: "other")
        #expect(queue.popFirst() == 0)
        #expect(queue.popFirst() == -1)
        #expect(queue.count(of: "offender") == length - 1)
    }

    @Test("serves the owners of one address together as one other, and guests apart from users")
    func groups() {
        var queue = FairQueue<String>()
        let address = AddressKey("192.0.2.1")
        for user in 1...3 {
            for element in 1...2 {
                queue.append("u\(user)\(element)", of: RequestOwner("u\(user)", in: .users(address)))
            }
        }
        queue.append("g1", of: RequestOwner("g", in: .guests(address)))
        for element in ["x1", "x2", "x3"] {
            queue.append(element, of: RequestOwner("x", in: .users(AddressKey("192.0.2.2"))))
        }
        var served: [String] = []
        while let next = queue.popFirst() { served.append(next) }
        #expect(served == ["u11", "g1", "x1", "u21", "x2", "u31", "x3", "u12", "u22", "u32"])
        #expect(queue.owners.isEmpty)
    }

    @Test("passes over a group that cannot be served")
    func groupPassedOver() {
        var queue = FairQueue<String>()
        let group = RequestOwner.Group.users(AddressKey("192.0.2.1"))
        queue.append("a1", of: RequestOwner("a", in: group))
        queue.append("b1", of: RequestOwner("b", in: group))
        queue.append("c1", of: "c")
        #expect(queue.popFirst(from: { $0 != group }) == "c1")
        #expect(queue.popFirst(from: { $0 != group }) == nil)
        #expect(queue.popLast(of: RequestOwner("a", in: group)) == "a1")
        #expect(queue.popFirst() == "b1")
        #expect(queue.popFirst() == nil)
    }

    @Test("keeps the turn of an owner that cannot be served")
    func passedOver() {
        var queue = FairQueue<String>()
        for element in ["a1", "a2", "b1", "b2"] { queue.append(element, of: owner(element)) }
        #expect(queue.popFirst(where: { $0 != "a" }) == "b1")
        #expect(queue.popFirst(where: { $0 != "a" }) == "b2")
        #expect(queue.popFirst(where: { $0 != "a" }) == nil)
        #expect(queue.popFirst() == "a1")
    }

    @Test("serves elements without an owner first")
    func unowned() {
        var queue = FairQueue<String>()
        queue.append("a1", of: "a")
        queue.append("own1", of: nil)
        queue.append("own2", of: nil)
        #expect([queue.popFirst(), queue.popFirst(), queue.popFirst()] == ["own1", "own2", "a1"])
    }

    @Test("removes elements, and owners without elements")
    func removal() {
        var queue = FairQueue<Int>()
        for number in 0..<6 { queue.append(number, of: number.isMultiple(of: 2) ? "even" : "odd") }
        #expect(queue.remove { owner, _ in owner == "even" } == [0, 2, 4])
        #expect(Array(queue.owners) == ["odd"])
        #expect(queue.remove { _, number in number == 3 } == [3])
        #expect(queue.popFirst() == 1)
        #expect(queue.popFirst() == 5)
        #expect(queue.popFirst() == nil)
    }

    @Test("keeps the order of a queue that grows and shrinks")
    func longLife() {
        var queue = FairQueue<Int>()
        var next = 0
        for number in 0..<10_000 {
            queue.append(number, of: "a")
            guard number.isMultiple(of: 3) else { continue }
            #expect(queue.popFirst() == next)
            next += 1
        }
        while let number = queue.popFirst() {
            #expect(number == next)
            next += 1
        }
        #expect(next == 10_000)
    }
}
