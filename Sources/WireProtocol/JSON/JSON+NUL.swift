extension JSON {
    /// True if any string or name in the value contains a NUL.
    package var containsNUL: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains { $0.containsNUL }
        case .object(let object): object.members.contains { $0.name.utf8.contains(0) || $0.value.containsNUL }
        }
    }
}
