import ArgumentParser
import Messaging
import WireProtocol

/// `postline token`.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print an access token of a user, by email address.",
        discussion: """
            Opens a session of that user without its password, for scripts and tests. It needs the token secret. \
            In the dev world: postline token alice@example.com --directory .postline
            """)

    @Argument(help: "The user's email address.")
    var email: String

    @OptionGroup var options: SettingOptions
    @OptionGroup var world: DevWorldOptions

    func validate() throws { try world.validate(with: options) }

    func run() async throws {
        try await CommandFailure.reported {
            var settings = try world.settings(options)
            // Nothing is served, so this command need not be able to read the certificate's key.
            settings.tlsCertificate = nil
            let node = try await Node(settings)
            try await node.requireSchema()
            do {
                print(try await node.service.accessToken(forEmail: email))
            } catch let error as ProtocolError {
                throw CommandFailure.say(error.message, .failure)
            }
        }
    }
}
