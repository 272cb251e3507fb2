/// The reason why a key set is unavailable.
public struct KeySetError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
