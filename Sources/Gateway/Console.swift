/// The web console: its demo accounts, and the origins of its pictures.
public struct Console: Sendable {
    /// A demo account that the console signs in to with one click.
    public struct DemoAccount: Sendable {
        public let userID: String
        public let email: String
        public let password: String
        public let fullName: String

        public init(userID: String, email: String, password: String, fullName: String) {
            self.userID = userID
            self.email = email
            self.password = password
            self.fullName = fullName
        }
    }

    public let demoAccounts: [DemoAccount]

    /// The origins of pictures, besides this server's own.
    public var pictureOrigins: [String] = []

    public init(demoAccounts: [DemoAccount]) { self.demoAccounts = demoAccounts }
}
