import Foundation
import JWTKit

/// An access token with the claims that Supabase's auth server writes, all of them.
struct SupabaseToken: JWTPayload {
    static let secret = "super-secret-jwt-token-with-at-least-32-characters-long"
    static let issuer = "https://abcdefghijklmnopqrst.supabase.co/auth/v1"

    struct Method: Codable, Sendable {
        var method = "password"
        var timestamp = 1_700_000_000
    }

    struct AppMetadata: Codable, Sendable {
        var provider = "email"
        var providers = ["email"]
    }

    struct UserMetadata: Codable, Sendable {
        var full_name = "Somebody"
        var email_verified = true
    }

    var iss = issuer
    var sub: String?
    var aud: String? = "authenticated"
    var exp = Int(Date.now.timeIntervalSince1970) + 3600
    var iat = Int(Date.now.timeIntervalSince1970)
    var email = ""
    var phone = ""
    var app_metadata = AppMetadata()
    var user_metadata = UserMetadata()
    var role = "authenticated"
    var aal = "aal1"
    var amr = [Method()]
    var session_id: String? = UUID().uuidString.lowercased()
    var is_anonymous = false

    init(_ user: SupabaseUser) {
        sub = user.id
        is_anonymous = user == .guest
    }

    func verify(using algorithm: some JWTAlgorithm) async throws {}

    /// Returns a token as a project with a JWT secret signs it; the header names a key.
    func signed(secret: String = secret) async throws -> String {
        let key: JWKIdentifier = "kPxAQzbjJFvUFE9k"
        return try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: key)
            .sign(self, kid: key)
    }

    /// A project's API key, as it is given to apps (`anon`) and to trusted backends (`service_role`).
    static func apiKey(_ role: String) async throws -> String {
        struct Claims: JWTPayload {
            var iss = "supabase"
            var ref = "abcdefghijklmnopqrst"
            var role: String
            var iat = 1_700_000_000
            var exp = Int(Date.now.timeIntervalSince1970) + 315_360_000

            func verify(using algorithm: some JWTAlgorithm) async throws {}
        }
        return try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
            .sign(Claims(role: role))
    }
}

/// The accounts that a test's project has before Postline comes, and one that comes later.
enum SupabaseUser: String, CaseIterable {
    case ada = "1"
    case ben = "2"
    case guest = "3"
    case later = "4"

    var id: String { "aaaaaaaa-0000-4000-8000-00000000000\(rawValue)" }
}
