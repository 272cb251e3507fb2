/// The page for people.
public struct Console: Sendable {
    /// Somebody who signs in with one click.
    public struct Person: Sendable {
        public let email: String
        public let password: String
        public let fullName: String

        public init(email: String, password: String, fullName: String) {
            self.email = email
            self.password = password
            self.fullName = fullName
        }
    }

    public let people: [Person]

    /// Where pictures come from, beside this server.
    public var pictureOrigins: [String] = []

    public init(people: [Person]) { self.people = people }
}
