import BoundedWait
import Foundation
import Postline
import Synchronization
import TestSupport
import Testing

@Suite("Client user")
@MainActor
struct ClientUserTests {
    @Test("registers, and edits profile and physical data", .covers("D15", "D18"))
    func registered() async throws {
        try await withDevice { database, node, device in
            let client = device.client
            try await client.register(
                email: "robin@new.example.com", password: "postline-dev", fullName: "Robin Ray",
                username: "robin_ray")
            try await device.waitUntilLive()
            let id = try #require(client.me?.id)
            #expect(client.account == .user(id: id))
            #expect(client.me?.email == "robin@new.example.com" && client.me?.isGuest == false)
            #expect(client.me?.fullName == "Robin Ray" && client.me?.username == "robin_ray")
            try await client.updateProfile {
                $0.bio = "A ray."
                $0.preferredUnitSystem = .imperial
                $0.languageCode = "pt"
            }
            let birth = CalendarDate(year: 1990, month: 1, day: 15)
            try await client.updateProfile {
                $0.heightCM = 181.5
                $0.biologicalSex = .female
                $0.dateOfBirth = birth
            }
            try await device.waitUntil("the saved edit") { $0.pendingChangeCount == 0 }
            #expect(client.refusedChanges.isEmpty)
            #expect(client.me?.bio == "A ray." && client.me?.preferredUnitSystem == .imperial)
            #expect(client.me?.languageCode == "pt" && client.me?.fullName == "Robin Ray")
            let physical = try #require(client.me?.physical)
            #expect(physical.heightCM == 181.5 && physical.biologicalSex == .female)
            #expect(physical.dateOfBirth == birth && client.me?.dateOfBirth == birth)
            let stored = """
                select concat_ws(' ', p.full_name, p.bio, p.language_code, s.preferred_unit_system,
                    s.height_cm, s.biological_sex, s.date_of_birth)
                from user_profiles p join user_private s using (id) where id = '\(id)'
                """
            #expect(
                try await database.value(stored)
                    == "Robin Ray A ray. pt imperial 181.50 female 1990-01-15")
            // One field is removed, and the others stay.
            try await client.updateProfile { $0.heightCM = nil }
            try await device.waitUntil("the saved edit") { $0.pendingChangeCount == 0 }
            #expect(
                try await database.value(stored) == "Robin Ray A ray. pt imperial female 1990-01-15")
            // Another device gets the data at its sign-in.
            try await AppDevice.with(.node(node.port)) { other in
                try await other.client.signIn(email: "robin@new.example.com", password: "postline-dev")
                try await other.waitUntilLive()
                #expect(other.client.account == .user(id: id))
                #expect(other.client.me?.physical == client.me?.physical)
                #expect(other.client.me?.profile == client.me?.profile)
            }
        }
    }

    @Test("list, chat, profile and settings change in one turn", .covers("B28", "B34"))
    func parts() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            let client = device.client
            let chat = try await client.loadedChat(with: .aliceBob)
            #expect(chat.messages.contains { $0.senderID == .alice })
            @MainActor func inList() -> String? {
                client.conversations.first { $0.id == .aliceBob }?
                    .users.first { $0.id == .alice }?.fullName
            }
            @MainActor func inChat() -> String? {
                chat.messages.last { $0.senderID == .alice }?.sender?.fullName
            }
            let list = ClientObserver { inList() }
            let open = ClientObserver { inChat() }
            let profile = ClientObserver { client.me?.fullName }
            let settings = ClientObserver { client.me?.preferences["theme"] }
            let all = ClientObserver { Set([inList(), inChat(), client.me?.fullName]) }
            try await database.psql(
                """
                update user_profiles set full_name = 'Alice Newname' where id = '\(Person.alice.id)';
                update user_private set preferences = '{"theme":"light"}' where id = '\(Person.alice.id)'
                """)
            let names: [String?] = ["Alice Moreau", "Alice Newname"]
            try await device.waitUntil("the change everywhere") { _ in
                list.values == names && open.values == names && profile.values == names
                    && settings.values == ["dark", "light"]
            }
            // The views never showed two names at once.
            #expect(all.values == [["Alice Moreau"], ["Alice Newname"]])
        }
    }

    @Test(
        "shows the stored user at launch, and fetches it again",
        .covers("B34", "E11"))
    func fetchedAnew() async throws {
        try await TestDatabase.with { database in
            let port = try await unusedPort()
            let node = try await ServeProcess.start(database, ["--access-token-seconds", "2"], port: port)
            try await AppDevice.with(.node(port)) { device in
                @Sendable func rename(_ name: String) async throws {
                    try await database.psql(
                        "update user_profiles set full_name = '\(name)' where id = '\(Person.alice.id)'")
                }
                try await device.signIn(.alice)
                try await node.kill()
                try await device.waitUntil("the offline state") { if case .offline = $0.state { true } else { false } }
                try await rename("Alice Elsewhere")
                try await device.relaunch()
                #expect(device.client.me?.fullName == "Alice Moreau")
                let again = try await ServeProcess.start(database, ["--access-token-seconds", "2"], port: port)
                defer { again.command.signal(SIGKILL) }
                device.client.networkChanged()
                try await device.waitUntil("the current user") { $0.me?.fullName == "Alice Elsewhere" }
                try await device.waitUntilLive()
                let renewals = try await database.value("select sum(generation) from app.sessions")
                try await eventually("a new token") {
                    try await database.value("select sum(generation) from app.sessions") != renewals
                }
                try await rename("Alice Again")
                try await device.waitUntil("the change") { $0.me?.fullName == "Alice Again" }
            }
        }
    }

    @Test("tokens are in the app's secret store until sign-out", .covers("B8"))
    func secretStore() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let secrets = MemorySecrets()
                try await AppDevice.with(.node(node.port), secrets: secrets) { device in
                    #expect(secrets.names.isEmpty)
                    try await device.signIn(.alice)
                    #expect(secrets.names == [Person.alice.id])
                    let kept = try #require(try secrets.read(named: Person.alice.id))
                    let tokens = try #require(try JSONSerialization.jsonObject(with: kept) as? [String: Any])
                    #expect(tokens["user_id"] as? String == Person.alice.id)
                    #expect(tokens["access_token"] as? String == (try await device.client.accessToken().value))
                    let refresh = try #require(tokens["refresh_token"] as? String)
                    // The tokens are nowhere else on the device.
                    await device.client.disconnect()
                    let files = try FileManager.default.subpathsOfDirectory(atPath: device.folder.path)
                    #expect(!files.contains { $0.hasSuffix(".secret") })
                    for file in files where file.contains(".sqlite") || file.hasSuffix(".json") {
                        let bytes = try Data(contentsOf: device.folder.appending(path: file))
                        #expect(bytes.range(of: Data(refresh.utf8)) == nil, "\(file)")
                    }
                    // The next launch signs in by the stored tokens.
                    try await device.relaunch()
                    #expect(device.client.account == .user(id: .alice))
                    try await device.waitUntilLive()
                    try await device.client.signOut()
                    #expect(secrets.names.isEmpty)
                    // Without tokens, as after the keychain was erased, no user is signed in.
                    try await device.signIn(.alice)
                    try secrets.erase(named: Person.alice.id)
                    try await device.relaunch()
                    #expect(device.client.account == .signedOut && device.client.state == .signedOut(nil))
                }
            }
        }
    }

    @Test("an account goes from guest to user, and ends at sign-out", .covers("E14"))
    func states() async throws {
        try await withDevice { _, _, device in
            let client = device.client
            let accounts = ClientObserver { client.account }
            try client.continueAsGuest()
            try await client.updateProfile {
                $0.dateOfBirth = CalendarDate(year: 1990, month: 2, day: 28)
            }
            try await device.waitUntil("the guest") {
                if case .guest = $0.account { $0.state == .live } else { false }
            }
            let guest = try #require(client.me?.id)
            #expect(client.me?.dateOfBirth?.description == "1990-02-28")
            try await client.signIn(email: Person.bob.email, password: "postline-dev")
            try await device.waitUntilLive()
            try await device.waitUntil("each state") { _ in
                accounts.values == [
                    .signedOut, .localGuest, .guest(id: guest), .signingIn(guest: guest),
                    .user(id: .bob),
                ]
            }
            try await client.signOut()
            try await device.waitUntil("the sign-out") { _ in accounts.values.last == .signedOut }
            try await device.relaunch()
            #expect(device.client.account == .signedOut)
        }
    }

    /// A secret store outside the app's folder, like a keychain.
    private final class MemorySecrets: SecretStore {
        private let items = Mutex<[String: Data]>([:])

        var names: [String] { items.withLock { $0.keys.sorted() } }

        func read(named name: String) throws -> Data? { items.withLock { $0[name] } }
        func write(_ secret: Data, named name: String) throws { items.withLock { $0[name] = secret } }
        func erase(named name: String) throws { items.withLock { $0[name] = nil } }
    }
}
