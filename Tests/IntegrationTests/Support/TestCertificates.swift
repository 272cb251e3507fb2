import Crypto
import Foundation
import LineClient
import SwiftASN1
import X509

/// An authority of a test's own, and the certificates that it gives to servers, as files for as long as the test runs.
struct TestCertificates: Sendable {
    let directory: URL

    /// The authority's own certificate.
    let authorities: String

    private let name: DistinguishedName
    private let key: Certificate.PrivateKey

    /// Makes an authority for as long as `body` runs.
    static func with<Value: Sendable>(_ body: @Sendable (TestCertificates) async throws -> Value) async throws -> Value
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "postline-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(TestCertificates(in: directory))
    }

    /// - Parameter directory: is there already.
    init(in directory: URL) throws {
        self.directory = directory
        authorities = directory.appending(path: "authority-\(UUID().uuidString).pem").path
        name = try DistinguishedName { CommonName("Authority \(UUID().uuidString)") }
        key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let own = try certificate(
            for: name, key.publicKey,
            Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            })
        try Self.write(own.serializeAsPEM().pemString, to: authorities)
    }

    /// The server's certificate and key files.
    var files: (certificate: String, key: String) {
        (directory.appending(path: "server.pem").path, directory.appending(path: "server.key").path)
    }

    /// The settings of `postline serve`.
    var environment: [String: String] {
        ["POSTLINE_TLS_CERTIFICATE": files.certificate, "POSTLINE_TLS_KEY": files.key]
    }

    /// The trust in this authority alone.
    var trust: ServerTrust { get throws { try ServerTrust(authorities: authorities) } }

    /// Writes a server's certificate and key where servers look for them.
    ///
    /// - Parameters:
    ///   - host: the name that it is for, beside 127.0.0.1; another name is for that alone.
    ///   - validFor: how long from now; negative where it has expired.
    func issue(for host: String = "localhost", validFor seconds: TimeInterval = 3_600) throws {
        let serverKey = P256.Signing.PrivateKey()
        var names = [GeneralName.dnsName(host)]
        if host == "localhost" { names.append(.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))) }
        let own = try certificate(
            for: try DistinguishedName { CommonName(host) }, Certificate.PrivateKey(serverKey).publicKey,
            Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                SubjectAlternativeNames(names)
            }, validFor: seconds)
        try Self.write(own.serializeAsPEM().pemString, to: files.certificate)
        try Self.write(serverKey.pemRepresentation, to: files.key)
    }

    private func certificate(
        for subject: DistinguishedName, _ subjectKey: Certificate.PublicKey, _ extensions: Certificate.Extensions,
        validFor seconds: TimeInterval = 3_600
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: subjectKey,
            notValidBefore: .now.addingTimeInterval(-7_200), notValidAfter: .now.addingTimeInterval(seconds),
            issuer: name, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: key)
    }

    static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }
}
