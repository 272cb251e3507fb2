package import FoundationEssentials
import JWTKit
package import Messaging

/// The configuration of device pushes (`docs/push.md`).
package struct PushSettings: Sendable {
    package var apns: APNs?
    package var fcm: FCM?
    package var webhook: Webhook?

    /// True if pushes include the messages' texts.
    package var hasPreviews = false
    package var texts = PushTexts()

    /// A file of additional trusted certificates (PEM), or nil.
    package var authorities: String?

    /// Creates settings without a provider.
    package init() {}

    package var platforms: Set<DevicePlatform> {
        var platforms: Set<DevicePlatform> = []
        if apns != nil { platforms.insert(.apns) }
        if fcm != nil { platforms.insert(.fcm) }
        if webhook != nil { platforms.insert(.webhook) }
        return platforms
    }

    /// The credentials for Apple's service.
    package struct APNs: Sendable {
        let key: ES256PrivateKey
        let keyID: String
        let teamID: String
        let topic: String

        /// Another service URL, or nil for Apple's two.
        let url: String?

        /// - Parameters:
        ///   - key: the `.p8` file's text.
        ///   - topic: the app's bundle id.
        ///   - url: the service's URL, for tests.
        /// - Throws: `OutboxError` if the key is invalid.
        package init(key: String, keyID: String, teamID: String, topic: String, url: String? = nil) throws {
            do {
                self.key = try ES256PrivateKey(pem: key)
            } catch {
                throw OutboxError("must be an APNs private key (a .p8 file: PEM, P-256).")
            }
            self.keyID = keyID
            self.teamID = teamID
            self.topic = topic
            self.url = url
        }

        func url(isSandbox: Bool) -> String {
            url ?? (isSandbox ? "https://api.sandbox.push.apple.com" : "https://api.push.apple.com")
        }
    }

    /// The credentials for Google's service: a service account of the project.
    package struct FCM: Sendable {
        let projectID: String
        let clientEmail: String
        let key: Insecure.RSA.PrivateKey

        /// The key's id, by which Google finds its public key; nil if the file does not name it.
        let keyID: String?
        let tokenURL: String
        let url: String

        private struct File: Decodable {
            let project_id: String
            let client_email: String
            let private_key: String
            let private_key_id: String?
            let token_uri: String
        }

        /// - Parameters:
        ///   - serviceAccount: the JSON file's bytes.
        ///   - url: the service's URL, for tests.
        /// - Throws: `OutboxError` if the file is invalid.
        package init(serviceAccount: Data, url: String? = nil) throws {
            guard let file = try? JSONDecoder().decode(File.self, from: serviceAccount) else {
                throw OutboxError(
                    "must be a service account: a JSON file with project_id, client_email, private_key and token_uri.")
            }
            do {
                key = try Insecure.RSA.PrivateKey(pem: file.private_key)
            } catch {
                throw OutboxError("must have an RSA key (PEM) as its private_key.")
            }
            projectID = file.project_id
            keyID = file.private_key_id
            clientEmail = file.client_email
            tokenURL = file.token_uri
            self.url = url ?? "https://fcm.googleapis.com"
        }
    }

    /// A server of the operator.
    package struct Webhook: Sendable {
        let url: String

        /// The secret that signs requests.
        let secret: String

        package init(url: String, secret: String) {
            self.url = url
            self.secret = secret
        }
    }
}
