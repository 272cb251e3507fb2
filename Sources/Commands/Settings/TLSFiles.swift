import LineServer

/// The files of the certificate chain and the key.
struct TLSFiles: Sendable {
    let certificate: String
    let key: String
}

extension CertificateError {
    /// A sentence that names the setting whose file must change.
    var sentence: String {
        switch part {
        case .certificate: "POSTLINE_TLS_CERTIFICATE cannot be used: \(self)."
        case .key: "POSTLINE_TLS_KEY cannot be used: \(self)."
        }
    }
}
