import NIOCore
import NIOSSL

/// The certificates that a client trusts over TLS.
///
/// A server's certificate must be for the name or address that the client connects to, unless the client trusts that
/// one certificate.
package struct ServerTrust: Sendable {
    private let context: NIOSSLContext

    /// The only certificate to trust, for any name, or nil to verify authorities and names.
    private let certificate: NIOSSLCertificate?

    /// Trusts certificate authorities.
    ///
    /// - Parameter authorities: A PEM file of authorities, or nil for those of the system.
    /// - Throws: ``TrustError``.
    package init(authorities: String? = nil) throws(TrustError) {
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

    /// Trusts the first certificate of a PEM file only.
    ///
    /// - Throws: ``TrustError``.
    package init(certificate file: String) throws(TrustError) {
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

    /// Returns a TLS handler for a server with this name or address.
    func handler(for host: String) throws -> NIOSSLClientHandler {
        if let certificate {
            return try NIOSSLClientHandler(context: context, serverHostname: nil) { chain, answer in
                answer.succeed(chain.first == certificate ? .certificateVerified : .failed)
            }
        }
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        // An IP address is not sent as a server name. The certificate is checked against the socket's address instead.
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }

    /// Returns the reason why a server is not trusted, or nil for other errors.
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

/// An error of the trusted certificates.
package struct TrustError: Error, CustomStringConvertible {
    /// The reason, without a full stop.
    package let description: String

    init(_ description: String) { self.description = description }
}
