internal import LineServer

/// Where the certificate chain and the key are.
struct TLSFiles: Sendable {
    let certificate: String
    let key: String
}

extension CertificateError {
    /// Names the setting whose file is to be changed.
    var sentence: String {
        switch part {
        case .certificate: "POSTLINE_TLS_CERTIFICATE cannot be used: \(self)."
        case .key: "POSTLINE_TLS_KEY cannot be used: \(self)."
        }
    }
}
