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
            "set sslrootcert to a PEM file of the authority that signed the server's certificate, and check that the "
                + "certificate has not expired"
        ),
        (
            "does not match host name",
            "set host to a name in the server's certificate, with hostaddr if that name does not resolve to the "
                + "server, or issue a certificate for this name"
        ),
        (
            "root certificate",
            "set sslrootcert to a PEM file, readable by this user, of the authority that signed the server's certificate"
        ),
        (
            "password authentication failed",
            "correct the password in the connection string, or change the role's: alter role … password '…'"
        ),
        (
            "does not exist",
            "use an existing database and role: `postline migrate` creates the role, but you must create the database"
        ),
        ("server does not support SSL", "enable ssl on the server, with ssl_cert_file and ssl_key_file"),
    ]
}
