import Foundation
import JWTKit

/// An access token of the tests, valid unless a claim is changed.
struct TestToken: JWTPayload {
    var sub: String
    var session_id: String?
    var role = "authenticated"
    var aud = "authenticated"
    var iss = "postline"
    var exp = Date.now + 3600
    var nbf: Date?
    var is_anonymous = false

    func verify(using algorithm: some JWTAlgorithm) async throws {}

    func signed(secret: String = TestNode.secret) async throws -> String {
        try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256).sign(self)
    }
}
