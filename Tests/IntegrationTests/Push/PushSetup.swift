import BoundedWait
import Crypto
import CryptoExtras
import Foundation
import LineClient
import Postgres
import WireProtocol

/// Nodes that push to a stand-in of all three providers.
struct PushSetup: Sendable {
    let database: TestDatabase
    let standIn: PushStandIn
    let certificates: TestCertificates
    let apnsKey = P256.Signing.PrivateKey()
    let fcmKey: _RSA.Signing.PrivateKey
    static let webhookSecret = "a secret of the tests, of 32 bytes and more"

    /// Runs `body` with a database and a stand-in that accepts everything.
    static func with<Value: Sendable>(_ body: @Sendable (PushSetup) async throws -> Value) async throws -> Value {
        try await TestDatabase.with { database in
            try await TestCertificates.with { certificates in
                try await PushStandIn.with(certificates) { standIn in
                    let setup = try PushSetup(database: database, standIn: standIn, certificates: certificates)
                    setup.answer()
                    return try await body(setup)
                }
            }
        }
    }

    private init(database: TestDatabase, standIn: PushStandIn, certificates: TestCertificates) throws {
        self.database = database
        self.standIn = standIn
        self.certificates = certificates
        fcmKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// Grants access tokens, and sets the answer to other requests.
    func answer(_ answer: @escaping @Sendable (PushStandIn.Request) -> PushStandIn.Answer = { _ in .says(200, "{}") }) {
        standIn.answer { request in
            if request.path == "/token" { return .says(200, #"{"access_token":"granted","expires_in":3600}"#) }
            return answer(request)
        }
    }

    /// Returns the settings of `postline serve` for pushes.
    func environment() throws -> [String: String] {
        func file(_ name: String, _ text: String) throws -> String {
            let path = certificates.directory.appending(path: name).path
            try TestCertificates.write(text, to: path)
            return path
        }
        let account = try JSONSerialization.data(withJSONObject: [
            "project_id": "a-project", "client_email": "pusher@a-project.example", "token_uri": "\(standIn.url)/token",
            "private_key": fcmKey.pkcs8PEMRepresentation, "private_key_id": "fcm-key-1",
        ])
        return [
            "POSTLINE_PUSH_APNS_KEY_FILE": try file("apns.p8", apnsKey.pemRepresentation),
            "POSTLINE_PUSH_APNS_KEY_ID": "KEY4567890", "POSTLINE_PUSH_APNS_TEAM_ID": "TEAM567890",
            "POSTLINE_PUSH_APNS_TOPIC": "com.example.app", "POSTLINE_PUSH_APNS_URL": standIn.url,
            "POSTLINE_PUSH_FCM_SERVICE_ACCOUNT_FILE": try file(
                "account.json", String(decoding: account, as: UTF8.self)),
            "POSTLINE_PUSH_FCM_URL": standIn.url, "POSTLINE_PUSH_WEBHOOK_URL": "\(standIn.url)/hook",
            "POSTLINE_PUSH_WEBHOOK_SECRET": Self.webhookSecret,
            "POSTLINE_PUSH_AUTHORITIES_FILE": certificates.authorities, "POSTLINE_PUSH_PREVIEWS": "on",
        ]
    }

    /// Starts a node, and waits until it is the leader. Messages sent before cause no pushes.
    func leader() async throws -> ServeProcess {
        let node = try await node()
        do {
            try await Self.leads(node)
            return node
        } catch {
            node.command.signal(SIGKILL)
            throw error
        }
    }

    /// Waits until the node is the leader.
    static func leads(_ node: ServeProcess) async throws {
        try await eventually("the node to lead") {
            try await node.metrics()["postline_device_notification_leader"] == 1
        }
    }

    /// Starts a node with push settings.
    func node(_ changes: [String: String] = [:]) async throws -> ServeProcess {
        try await ServeProcess.start(database, environment: try environment().merging(changes) { $1 })
    }
}

extension TestClient {
    /// Registers a device of the signed-in user. Returns its id.
    @discardableResult
    func register(device token: String, _ platform: String = "apns", locale: String? = nil) async throws -> String {
        let locale = locale.map { JSON.string($0) } ?? .null
        return try await call(
            "devices.register", ["platform": .string(platform), "token": .string(token), "locale": locale])["id"]?
            .stringValue ?? ""
    }
}
