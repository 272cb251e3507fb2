/// A configuration error of mail, as a sentence for the operator.
package struct MailError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
