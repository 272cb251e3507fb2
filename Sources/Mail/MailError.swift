/// A configuration error of mail, as a sentence for the operator.
public struct MailError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
