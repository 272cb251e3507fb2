/// A JSON object with all members in order.
package struct JSONObject: Sendable, Equatable {
    package let members: [Member]

    /// A member: a name and a value.
    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSON

        package init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }

        package static func == (left: Member, right: Member) -> Bool {
            left.name.hasSameCodePoints(as: right.name) && left.value == right.value
        }
    }

    package init(_ members: [Member] = []) {
        self.members = members
    }

    /// Returns the value of the first member with this name, or nil.
    package subscript(name: String) -> JSON? {
        for member in members where member.name.hasSameCodePoints(as: name) { return member.value }
        return nil
    }

    /// The first duplicate name, or nil.
    package var duplicate: String? {
        guard members.count > 1 else { return nil }
        // Comparing all pairs is fastest for typical objects; hashing bounds the rest.
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
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { Member(name: $0.0, value: $0.1) })
    }
}
