/// A configuration error of device pushes, as a sentence for the operator.
public struct PushError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
