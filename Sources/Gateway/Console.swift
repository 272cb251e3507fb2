/// The web console: its demo accounts, and the origins that its pictures may come from.
public struct Console: Sendable {
    /// A demo account, with which the console signs in by one click.
    public struct Person: Sendable {
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

    public let people: [Person]

    /// The origins besides this server's own that pictures come from.
    public var pictureOrigins: [String] = []

    public init(people: [Person]) { self.people = people }
}
