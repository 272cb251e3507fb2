internal import NIOCore
internal import NIOSSL

/// Whom a client trusts over TLS, to be who it says it is.
///
/// A server shows a certificate for the very name or address that the client connects to, unless it is known by the
/// certificate itself.
public struct ServerTrust: Sendable {
    private let context: NIOSSLContext

    /// The one that is trusted whatever name it is for, and nobody else's; nil: authorities and names count.
    private let certificate: NIOSSLCertificate?

    /// - Parameter authorities: a file of certificates in PEM that are trusted; nil: those that the system trusts.
    /// - Throws: ``TrustError``.
    public init(authorities: String? = nil) throws(TrustError) {
        var configuration = Self.configuration
        if let authorities {
            guard let certificates = try? NIOSSLCertificate.fromPEMFile(authorities), !certificates.isEmpty else {
                throw TrustError("\(authorities) cannot be read as a PEM file of certificates")
            }
            configuration.trustRoots = .certificates(certificates)
        }
        context = try Self.context(configuration)
        certificate = nil
    }

    /// Trusts whoever shows the first certificate of that file and has its key.
    ///
    /// - Throws: ``TrustError``.
    public init(certificate file: String) throws(TrustError) {
        guard let own = (try? NIOSSLCertificate.fromPEMFile(file))?.first else {
            throw TrustError("\(file) cannot be read as a PEM file of certificates")
        }
        var configuration = Self.configuration
        configuration.certificateVerification = .noHostnameVerification
        context = try Self.context(configuration)
        certificate = own
    }

    private static var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    private static func context(_ configuration: TLSConfiguration) throws(TrustError) -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw TrustError("The system's certificates cannot be used: \(error)")
        }
    }

    /// What shakes hands with the server of that name or address.
    func handler(for host: String) throws -> NIOSSLClientHandler {
        if let certificate {
            return try NIOSSLClientHandler(context: context, serverHostname: nil) { chain, answer in
                answer.succeed(chain.first == certificate ? .certificateVerified : .failed)
            }
        }
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        // An address is not sent as a name; the certificate is held against the socket's own then.
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }

    /// Why there is no trusted connection; nil where the error tells nothing of that.
    static func reason(_ error: any Error) -> String? {
        switch error {
        case NIOSSLError.handshakeFailed(let error) where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            "its certificate is not from a trusted authority, or is not valid now"
        case NIOSSLError.handshakeFailed(let error) where "\(error)".contains("WRONG_VERSION_NUMBER"):
            "it does not speak TLS"
        case NIOSSLError.handshakeFailed: "the handshake failed"
        case is NIOSSLExtraError: "its certificate is for another name"
        default: nil
        }
    }
}

/// What is to be trusted cannot be read.
public struct TrustError: Error, CustomStringConvertible {
    /// Why, without a full stop.
    public let description: String

    init(_ description: String) { self.description = description }
}
