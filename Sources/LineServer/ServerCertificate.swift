import FoundationEssentials
import NIOCore
package import NIOSSL
import Synchronization

/// The TLS certificate chain and private key of a server, from two files that can be reloaded.
package final class ServerCertificate: Sendable {
    private let certificateFile: String
    private let keyFile: String
    private let current: Mutex<Current>

    private struct Current {
        let lines: NIOSSLContext
        let http: NIOSSLContext
        let validity: ClosedRange<Int>
    }

    /// A protocol that runs over TLS.
    package enum Application {
        case lines
        case http
    }

    /// - Parameters:
    ///   - certificateFile: the chain in PEM, the server's own certificate first.
    ///   - keyFile: its private key in PEM, without a passphrase.
    /// - Throws: ``CertificateError``.
    package init(certificateFile: String, keyFile: String) throws(CertificateError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        current = Mutex(try Self.read(certificateFile, keyFile))
    }

    /// Reloads the files for new connections.
    ///
    /// - Throws: ``CertificateError``. The previous certificate then stays in use.
    package func reload() throws(CertificateError) {
        let renewed = try Self.read(certificateFile, keyFile)
        current.withLock { $0 = renewed }
    }

    /// The expiry of the server's own certificate, in seconds since 1970.
    package var expiry: Int { validity.upperBound }

    /// The time in which the server's own certificate is valid, in seconds since 1970.
    package var validity: ClosedRange<Int> { current.withLock { $0.validity } }

    /// Creates the TLS handler of one connection.
    package func handler(for application: Application) -> NIOSSLServerHandler {
        var configuration = NIOSSLHandler.Configuration()
        // The buffer that a connection keeps between writes, however large the last one was.
        configuration.maximumPreservedOutboundBufferCapacity = 32_768
        let context = current.withLock { current in
            switch application {
            case .lines: current.lines
            case .http: current.http
            }
        }
        return NIOSSLServerHandler(context: context, configuration: configuration)
    }

    private static func read(_ certificateFile: String, _ keyFile: String) throws(CertificateError) -> Current {
        guard let chain = Self.bytes(of: certificateFile) else {
            throw CertificateError(.certificate, "\(certificateFile) cannot be read")
        }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(chain), let own = certificates.first else {
            throw CertificateError(.certificate, "\(certificateFile) holds no certificate chain in PEM")
        }
        guard let bytes = Self.bytes(of: keyFile) else { throw CertificateError(.key, "\(keyFile) cannot be read") }
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
            throw CertificateError(.key, "\(keyFile) holds no private key in PEM without a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        // TLS 1.2 without its CBC and SHA-1 suites (RFC 9325, section 4.2). All suites of TLS 1.3 are good.
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        // The time to wait for the close alert of a client, which may be gone.
        configuration.shutdownTimeout = .seconds(2)
        let lines = try? NIOSSLContext(configuration: configuration)
        configuration.applicationProtocols = ["http/1.1"]
        guard let lines, let http = try? NIOSSLContext(configuration: configuration) else {
            throw CertificateError(.key, "the key in \(keyFile) does not fit the certificate in \(certificateFile)")
        }
        return Current(
            lines: lines, http: http, validity: own.notValidBefore...max(own.notValidBefore, own.notValidAfter))
    }

    private static func bytes(of file: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(filePath: file))).map { Array($0) }
    }
}

/// An unusable certificate or key.
package struct CertificateError: Error, CustomStringConvertible {
    /// The file that must be corrected.
    package enum Part: Sendable {
        case certificate
        case key
    }

    package let part: Part

    /// The reason, without a full stop.
    package let description: String

    init(_ part: Part, _ description: String) {
        self.part = part
        self.description = description
    }
}
