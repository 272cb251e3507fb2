/// Why a key set cannot be had.
public struct KeySetError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
