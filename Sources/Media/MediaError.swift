/// An error of the picture store.
public struct MediaError: Error, CustomStringConvertible, Equatable {
    /// The error as a sentence.
    public let description: String

    init(_ description: String) { self.description = description }
}
