/// The web console: its demo accounts, and the origins of its pictures.
package struct Console: Sendable {
    /// A demo account that the console signs in to with one click.
    package struct DemoAccount: Sendable {
        package let userID: String
        package let email: String
        package let password: String
        package let fullName: String

        package init(userID: String, email: String, password: String, fullName: String) {
            self.userID = userID
            self.email = email
            self.password = password
            self.fullName = fullName
        }
    }

    package let demoAccounts: [DemoAccount]

    /// The origins of pictures, besides this server's own.
    package var pictureOrigins: [String] = []

    package init(demoAccounts: [DemoAccount]) { self.demoAccounts = demoAccounts }
}
