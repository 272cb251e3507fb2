package import Accounts
package import Media
import Messaging
package import Outbox

/// The settings of a node that `doctor` checks.
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
    let reports: WebhookSettings?
    let filter: WebhookSettings?

    /// Creates the settings. Each value is as a node would use it.
    ///
    /// - Parameters:
    ///   - flaw: the reason why a node would not start with them, or nil.
    ///   - unknownVariables: unknown environment variables with the settings' prefix, each with the nearest known
    ///     one.
    ///   - certificate: the file of the certificate chain with its expiry in seconds since 1970 or the reason why it
    ///     is invalid; nil without TLS.
    ///   - httpPort: the HTTP port, or nil if HTTP is off.
    ///   - operationsPort: the operations port, or nil if it is off.
    ///   - push: the push settings, or nil if push is off.
    ///   - mail: the mail settings, or nil if no mail is sent.
    ///   - media: the media settings, or nil if pictures are off.
    ///   - appleKeys: Apple's keys, or nil if Sign in with Apple is off.
    ///   - reports: the webhook of new reports, or nil if none is set.
    ///   - filter: the webhook that decides about held messages, or nil if none is set.
    package init(
        flaw: String?, jwtSecret: String?, jwtIssuer: String, accountProvider: AccountProvider,
        unknownVariables: [(name: String, nearest: String?)], host: String, port: Int,
        certificate: (file: String, expiry: Result<Int, any Error>)?, expectsProxyHeader: Bool, httpHost: String,
        httpPort: Int?, operationsHost: String, operationsPort: Int?, databaseURL: String?,
        listenDatabaseURL: String?, replicaDatabaseURL: String?, adminDatabaseURL: String?, poolSize: Int,
        push: PushSettings?, mail: MailSettings?, media: MediaSettings?, appleKeys: (any KeySetSource)?,
        reports: WebhookSettings?, filter: WebhookSettings?
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
        self.reports = reports
        self.filter = filter
    }
}
