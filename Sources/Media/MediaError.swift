/// Why pictures cannot be kept or found.
public struct MediaError: Error, CustomStringConvertible, Equatable {
    /// A sentence for a person.
    public let description: String

    init(_ description: String) { self.description = description }
}
