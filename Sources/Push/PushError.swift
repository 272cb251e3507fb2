/// Why pushes cannot be sent as they are set up, as a sentence for the operator.
public struct PushError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
