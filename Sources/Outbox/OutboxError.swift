/// An invalid setting of mail or device pushes, as the end of a sentence for the operator.
package struct OutboxError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
