import NIOCore

/// A server cannot listen where it was told to.
public struct ListenError: Error, CustomStringConvertible {
    /// A sentence for whoever started the server.
    public let description: String

    public init(host: String, port: Int, _ error: any Error) {
        let place = "\(host), port \(port)"
        self.description =
            switch (error as? IOError)?.errnoCode {
            case addressInUse: "Cannot listen on \(place): the port is in use."
            case permissionDenied: "Cannot listen on \(place): the port needs privileges."
            case addressNotAvailable: "Cannot listen on \(place): this machine does not have that address."
            default: "Cannot listen on \(place): \(error)"
            }
    }
}
