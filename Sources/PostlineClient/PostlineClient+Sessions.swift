import Foundation

/// Who signs in and out.
extension PostlineClient {
    /// Makes a new account, and signs in to it. A guest's data come along.
    public func register(email: String, password: String, fullName: String, username: String? = nil) async throws {
        if case .guest = account {
            try await upgrade(email: email, password: password, fullName: fullName)
            if let username { try await updateProfile { $0.username = username } }
            return
        }
        var params: [String: JSONValue] = [
            "email": .string(email), "password": .string(password), "full_name": .string(fullName),
        ]
        if let username { params["username"] = .string(username) }
        try await signIn("auth.register", params)
    }

    /// Signs in to an account. A guest's data come along: the account's own values win, and what was written and not sent
    /// is kept.
    public func signIn(email: String, password: String) async throws {
        try await signIn("auth.login", ["email": .string(email), "password": .string(password)])
    }

    /// Begins as a guest, also without a network: what is edited then is kept, and goes along when the server is there.
    public func continueAsGuest() throws {
        guard store == nil else { return }
        try DeviceState(userID: DeviceState.localGuest).write(in: folder)
        try begin(DeviceState.localGuest)
    }

    /// Makes the guest an account with the same id, conversations and data.
    public func upgrade(email: String, password: String, fullName: String? = nil) async throws {
        var params: [String: JSONValue] = ["email": .string(email), "password": .string(password)]
        if let fullName { params["full_name"] = .string(fullName) }
        let tokens = try await currentEngine().upgrade(params)
        account = .user(id: tokens.userID)
        try await refreshMe()
    }

    /// Signs out: nothing of the user is shown any more, and the tokens are forgotten.
    ///
    /// - Parameter erasing: also forget what the device knows of the user, and what was written and not sent. Else it is
    ///   there again when the user comes back.
    public func signOut(erasing: Bool = false) async throws {
        guard let store else { return }
        let userID = store.userID
        // The server ends the session where it can be told; the tokens are gone either way.
        if case .live = state { _ = try? await call("auth.logout", as: Nothing.self) }
        await stop()
        try secrets.erase(userID)
        try DeviceState().write(in: folder)
        try store.close(erasing: erasing)
        show(nobodyBecause: nil)
    }

    struct Nothing: Decodable, Sendable {}

    /// Signs in on a connection of its own, and goes on as that user.
    func signIn(_ method: String, _ params: [String: JSONValue]) async throws {
        var params = params
        let former = account
        let guest = store?.userID
        switch former {
        case .user, .signingIn: throw PostlineError(.invalidRequest, "Somebody is signed in: sign out first.")
        case .guest(let id):
            // What still can goes out as the guest's, and is merged by the server.
            try await engine?.drain(atMost: .seconds(5))
            if method == "auth.login", let tokens = try TokenKeeper.stored(id, in: secrets) {
                params["guest_refresh_token"] = .string(tokens.refreshToken)
            }
        case .localGuest, .nobody: break
        }
        account = .signingIn(guest: guest)
        await stop()
        do {
            let connection = try await LineConnection.connect(to: server, by: connector)
            defer { connection.close() }
            let tokens: Tokens = try await connection.call(method, params)
            let me: Me = try await connection.call("me.get", [String: String]())
            try TokenKeeper.store(tokens, in: secrets)
            try store?.close(erasing: false)
            store = nil
            try DeviceState(userID: tokens.userID, movingFrom: guest).write(in: folder)
            if let guest {
                try await keep(me, of: tokens.userID)
                try Self.move(guest, to: tokens.userID, in: folder)
                try secrets.erase(guest)
                try DeviceState(userID: tokens.userID).write(in: folder)
            }
            try begin(tokens.userID)
        } catch {
            // Who was here before still is.
            account = former
            if let guest, store != nil {
                try store?.close(erasing: false)
                store = nil
                try begin(guest)
            }
            throw error
        }
    }

    /// Stores an account's own data before a guest's come to it, so that what the account has stays.
    func keep(_ me: Me, of userID: String) async throws {
        let store = try Store(folder: folder, userID: userID)
        _ = try await store.write { try $0.apply(me) }
        try store.close(erasing: false)
    }

    /// Brings what a guest's file still has to send into the user's, and takes the file away.
    static func move(_ guest: String, to userID: String, in folder: URL) throws {
        guard guest != userID, FileManager.default.fileExists(atPath: Store.url(folder, guest).path) else { return }
        let old = try Store(folder: folder, userID: guest)
        let (changes, drafts) = try old.readNow { (try $0.changes(), try $0.drafts()) }
        let new = try Store(folder: folder, userID: userID)
        try new.writeNow { try $0.takeOver(changes, drafts) }
        try new.close(erasing: false)
        try old.close(erasing: true)
    }
}
