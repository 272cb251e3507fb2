/// A JSON object, its members in the order they were written, and all of them.
public struct JSONObject: Sendable, Equatable {
    public let members: [Member]

    /// A name and its value.
    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSON

        public init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }

        public static func == (left: Member, right: Member) -> Bool {
            left.name.hasSameCodePoints(as: right.name) && left.value == right.value
        }
    }

    public init(_ members: [Member] = []) {
        self.members = members
    }

    /// The value of the first member of this name; nil where there is none.
    public subscript(name: String) -> JSON? {
        for member in members where member.name.hasSameCodePoints(as: name) { return member.value }
        return nil
    }

    /// The first name that stands twice; nil where every name stands once.
    public var duplicate: String? {
        guard members.count > 1 else { return nil }
        // Comparing all pairs is the quickest for the objects that are usual, and hashing bounds the rest.
        if members.count <= 12 {
            for index in members.indices.dropFirst() {
                let name = members[index].name
                for earlier in members[..<index] where earlier.name.hasSameCodePoints(as: name) { return name }
            }
            return nil
        }
        var seen = Set<[UInt8]>(minimumCapacity: members.count)
        for member in members where !seen.insert(Array(member.name.utf8)).inserted { return member.name }
        return nil
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { Member(name: $0.0, value: $0.1) })
    }
}
