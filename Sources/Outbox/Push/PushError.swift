/// A configuration error of device pushes, as a sentence for the operator.
package struct PushError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
