package import Mail
package import Media
package import Messaging
package import Push

/// The settings of a node, as far as the doctor looks at them.
package struct SettingsUnderTest: Sendable {
    let flaw: String?
    let jwtSecret: String?
    let jwtIssuer: String
    let accountProvider: AccountProvider
    let unknownVariables: [(name: String, nearest: String?)]
    let host: String
    let port: Int
    let certificate: (file: String, expiry: Result<Int, any Error>)?
    let expectsProxyHeader: Bool
    let httpHost: String
    let httpPort: Int?
    let operationsHost: String
    let operationsPort: Int?
    let databaseURL: String?
    let listenDatabaseURL: String?
    let replicaDatabaseURL: String?
    let adminDatabaseURL: String?
    let poolSize: Int
    let push: PushSettings?
    let mail: MailSettings?
    let media: MediaSettings?
    let appleKeys: (any KeySetSource)?

    /// Takes each value as a node would use it.
    ///
    /// - Parameters:
    ///   - flaw: why a node does not start with them, in a sentence; nil where they are enough.
    ///   - unknownVariables: environment variables that begin as settings do and are none, each with the nearest one.
    ///   - certificate: the file of the certificate chain, and when it expires, in seconds since 1970, or why it cannot
    ///     be used; nil where lines are not encrypted.
    ///   - httpPort: nil where HTTP is not served.
    ///   - operationsPort: nil where metrics and health are not served.
    ///   - push: nil where nothing is pushed.
    ///   - mail: nil where no mail is sent.
    ///   - media: nil where no pictures are kept.
    ///   - appleKeys: nil where nobody signs in with Apple.
    package init(
        flaw: String?, jwtSecret: String?, jwtIssuer: String, accountProvider: AccountProvider,
        unknownVariables: [(name: String, nearest: String?)], host: String, port: Int,
        certificate: (file: String, expiry: Result<Int, any Error>)?, expectsProxyHeader: Bool, httpHost: String,
        httpPort: Int?, operationsHost: String, operationsPort: Int?, databaseURL: String?,
        listenDatabaseURL: String?, replicaDatabaseURL: String?, adminDatabaseURL: String?, poolSize: Int,
        push: PushSettings?, mail: MailSettings?, media: MediaSettings?, appleKeys: (any KeySetSource)?
    ) {
        self.flaw = flaw
        self.jwtSecret = jwtSecret
        self.jwtIssuer = jwtIssuer
        self.accountProvider = accountProvider
        self.unknownVariables = unknownVariables
        self.host = host
        self.port = port
        self.certificate = certificate
        self.expectsProxyHeader = expectsProxyHeader
        self.httpHost = httpHost
        self.httpPort = httpPort
        self.operationsHost = operationsHost
        self.operationsPort = operationsPort
        self.databaseURL = databaseURL
        self.listenDatabaseURL = listenDatabaseURL
        self.replicaDatabaseURL = replicaDatabaseURL
        self.adminDatabaseURL = adminDatabaseURL
        self.poolSize = poolSize
        self.push = push
        self.mail = mail
        self.media = media
        self.appleKeys = appleKeys
    }
}
