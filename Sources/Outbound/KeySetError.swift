/// The reason why a key set is unavailable.
package struct KeySetError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
