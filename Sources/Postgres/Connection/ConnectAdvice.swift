/// Advice for connection errors that libpq's message leaves unexplained.
enum ConnectAdvice {
    /// Returns libpq's message, followed by advice in parentheses if there is any.
    static func explained(_ message: String) -> String {
        guard let advice = advice.first(where: { message.contains($0.symptom) })?.sentence else { return message }
        return "\(message) (\(advice))"
    }

    /// The certificate comes first, since libpq names the file of authorities in other messages too.
    private static let advice: [(symptom: String, sentence: String)] = [
        (
            "certificate verify failed",
            "let sslrootcert name a PEM file of the authority that signed the server's certificate, and see that the "
                + "certificate has not expired"
        ),
        (
            "does not match host name",
            "let host be a name that the server's certificate is made out to, with hostaddr where that name does not "
                + "lead there, or have a certificate made out to this one"
        ),
        (
            "root certificate",
            "let sslrootcert name a PEM file, readable here, of the authority that signed the server's certificate"
        ),
        (
            "password authentication failed",
            "let the connection string have the role's own password, or give the role that one: alter role … password '…'"
        ),
        (
            "does not exist",
            "name a database and a role that exist: `postline migrate` makes the role, and nobody but you the database"
        ),
        ("server does not support SSL", "turn on ssl at the server, with ssl_cert_file and ssl_key_file"),
    ]
}
