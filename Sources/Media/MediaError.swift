/// An error of the picture store.
package struct MediaError: Error, CustomStringConvertible, Equatable {
    /// The error as a sentence.
    package let description: String

    init(_ description: String) { self.description = description }
}
