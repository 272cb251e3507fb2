import Foundation

/// Who signs in and out.
extension PostlineClient {
    /// Makes a new account, and signs in to it. A guest's data come along.
    ///
    /// - Parameters:
    ///   - email: the address to sign in with.
    ///   - password: 8 to 72 bytes.
    ///   - fullName: 1 to 100 characters.
    ///   - username: 3 to 30 of a-z, 0-9, `_` and `.`, with a letter first; nil: none yet.
    /// - Throws: ``PostlineError``: `email_taken`, `username_taken`, `invalid_params`, `offline`, `not_trusted`,
    ///   `rate_limited`; `email_unconfirmed` where the server wants the address confirmed first, by the mail that it has
    ///   sent: the account is made, and ``signIn(email:password:)`` follows; `invalid_request` where somebody is signed
    ///   in.
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

    /// What a guest brought into the account that it signed in to.
    public struct GuestMergeResult: Sendable, Hashable, Codable {
        /// How many conversations came along.
        public var conversations: Int
        /// How many messages.
        public var messages: Int
    }

    /// Signs in to an account. A guest's data come along: the account's own values win, and what was written and not sent
    /// is kept.
    ///
    /// - Returns: what came along at the server; nil where it was no guest who signed in.
    /// - Throws: ``PostlineError``: `invalid_credentials`, `email_unconfirmed`, `offline`, `not_trusted`, `rate_limited`;
    ///   `invalid_request` where somebody is signed in. Who was here before still is then.
    @discardableResult
    public func signIn(email: String, password: String) async throws -> GuestMergeResult? {
        try await signIn("auth.login", ["email": .string(email), "password": .string(password)])
    }

    /// Connects to the server and closes the connection again, without signing in.
    ///
    /// - Throws: ``PostlineError``: `offline`, or `not_trusted` if no Postline server answers, or TLS fails.
    package func checkServer() async throws {
        try await LineConnection.connect(to: server, by: connector).close()
    }

    /// Signs in with Apple, to an account that Apple's user has or gets. A guest's data come along: where there is no account
    /// yet the guest becomes it, with the same id.
    ///
    /// - Parameters:
    ///   - appleIdentityToken: the credential's `identityToken`, as text. It is good once: ask Apple for another where this
    ///     fails with `invalid_token`.
    ///   - nonce: what the request's `nonce` was made of, or what it was; nil where it had none.
    ///   - fullName: what Apple tells of the name, at the first time alone; it is taken where the account is made.
    /// - Returns: what came along at the server; nil where it was no guest who signed in.
    /// - Throws: ``PostlineError``: `invalid_token`, `token_expired`, `invalid_credentials` for a disabled account,
    ///   `forbidden` where the server takes no tokens of Apple's, `unavailable`, `offline`, `not_trusted`, `rate_limited`;
    ///   `invalid_request` where somebody is signed in. Who was here before still is then.
    @discardableResult
    public func signIn(
        appleIdentityToken: String, nonce: String? = nil, fullName: String? = nil
    ) async throws -> GuestMergeResult? {
        var params: [String: JSONValue] = ["identity_token": .string(appleIdentityToken)]
        if let nonce { params["nonce"] = .string(nonce) }
        if let fullName { params["full_name"] = .string(fullName) }
        return try await signIn("auth.apple", params)
    }

    /// Signs in with an access token alone, which cannot be renewed: the session is for as long as it is good.
    ///
    /// - Throws: ``PostlineError``: `invalid_token`, `token_expired`, `session_revoked`, `offline`, `not_trusted`;
    ///   `invalid_request` where somebody is signed in, and where a guest is whom the server knows: it would bring nothing
    ///   along.
    public func signIn(accessToken: String) async throws {
        _ = try await signIn(accessToken, guestAccessToken: nil)
    }

    /// Signs in with an access token of another server that keeps the accounts, such as Supabase's, and brings along the
    /// guest of this device, whom that server knows as an anonymous user.
    ///
    /// - Returns: what came along at the server.
    /// - Throws: as ``signIn(accessToken:)``, `forbidden` where the server keeps the accounts itself. Who was here before
    ///   still is then.
    @discardableResult
    public func signIn(accessToken: String, guestAccessToken: String) async throws -> GuestMergeResult? {
        try await signIn(accessToken, guestAccessToken: guestAccessToken)
    }

    private func signIn(_ accessToken: String, guestAccessToken: String?) async throws -> GuestMergeResult? {
        try await signIn(bringsGuest: guestAccessToken != nil) { connection, _ in
            struct Session: Decodable, Sendable {}
            let _: Session = try await connection.call("session.authenticate", ["access_token": accessToken])
            var merged: GuestMergeResult?
            if let guestAccessToken {
                merged = try await connection.call("auth.merge_guest", ["guest_access_token": guestAccessToken])
            }
            let me: Me = try await connection.call("me.get", [String: String]())
            return SignedIn(
                tokens: Tokens(accessToken: accessToken, refreshToken: nil, userID: me.id, isGuest: me.isGuest),
                merged: merged)
        }
    }

    /// Begins as a guest whom the server gets to know at once.
    ///
    /// - Throws: ``PostlineError``: `offline`, and nothing begins then; `not_trusted`, `rate_limited`; `invalid_request`
    ///   where somebody is signed in, or is such a guest already.
    public func signInAsGuest(fullName: String? = nil) async throws {
        try await signIn("auth.guest", fullName.map { ["full_name": .string($0)] } ?? [:])
    }

    /// Begins as a guest, also without a network: what is edited then is kept, and goes along when the server is there.
    /// It does nothing where somebody is signed in.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    public func continueAsGuest() throws {
        guard store == nil, account == .nobody, !isSigningOut else { return }
        try DeviceState.set(DeviceState.localGuest, in: folder)
        try restart()
    }

    /// Makes the guest an account with the same id, conversations and data.
    ///
    /// - Parameters:
    ///   - email: the address to sign in with.
    ///   - password: 8 to 72 bytes.
    ///   - fullName: 1 to 100 characters; nil: the guest's stays.
    /// - Throws: ``PostlineError``: `email_taken`, `invalid_params`, `offline`, `rate_limited`; `forbidden` for who has
    ///   an account already.
    public func upgrade(email: String, password: String, fullName: String? = nil) async throws {
        var params: [String: JSONValue] = ["email": .string(email), "password": .string(password)]
        if let fullName { params["full_name"] = .string(fullName) }
        let engine = try currentEngine()
        let tokens = try await engine.upgrade(params)
        guard engine === self.engine else { return }
        account = .user(id: tokens.userID)
        // It is an account now. What it looks like comes by itself where it cannot be had at once.
        var changes = Changes()
        changes.me = try? await engine.call("me.get", [String: String]())
        try? await apply(changes, from: engine)
    }

    /// Signs out: nothing of the user is shown any more, and the tokens are forgotten.
    ///
    /// - Parameters:
    ///   - erasing: also forget what the device knows of the user, and what was written and not sent. Else it is there
    ///     again when the user comes back.
    ///   - everywhere: end the user's sessions on all devices.
    /// - Throws: what the ``SecretStore`` or the file system throws where the device cannot forget; with `everywhere` also
    ///   ``PostlineError``, `offline`, and nobody is signed out then.
    public func signOut(erasing: Bool = false, everywhere: Bool = false) async throws {
        if case .signingIn = account { throw PostlineError(.invalidRequest, "Somebody is about to sign in.") }
        guard let store, !isSigningOut else { return }
        let userID = store.userID
        let keeper = engine?.keeper
        isSigningOut = true
        defer { isSigningOut = false }
        if everywhere {
            _ = try await call("auth.logout", ["all": true], as: EmptyResult.self)
        } else if case .live = state, let engine {
            // The server ends the session where it can be told soon; the tokens are gone either way.
            await withTaskGroup { group in
                group.addTask { _ = try? await engine.call("auth.logout", [String: String](), as: EmptyResult.self) }
                group.addTask { try? await Task.sleep(for: .seconds(2)) }
                await group.next()
                group.cancelAll()
            }
        }
        await stop()
        await keeper?.retire()
        // The server may have ended the session first.
        guard store === self.store else { return }
        try secrets.erase(named: userID)
        try DeviceState.set(nil, in: folder)
        show(signedOutBecause: nil)
        try store.close(erasing: erasing)
    }

    /// What a sign-in is answered with.
    private struct SignedIn: Decodable, Sendable {
        let tokens: Tokens
        let merged: GuestMergeResult?

        private enum CodingKeys: String, CodingKey {
            case merged
        }

        init(tokens: Tokens, merged: GuestMergeResult?) {
            self.tokens = tokens
            self.merged = merged
        }

        init(from decoder: any Decoder) throws {
            tokens = try Tokens(from: decoder)
            merged = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
                GuestMergeResult.self, forKey: .merged)
        }
    }

    /// Signs in by a method of the protocol; a guest's data come along where it is that of an account.
    @discardableResult
    private func signIn(_ method: String, _ params: [String: JSONValue]) async throws -> GuestMergeResult? {
        try await signIn(bringsGuest: ["auth.login", "auth.apple"].contains(method)) { connection, guestToken in
            try await Self.requestTokens(connection, method, params, guestToken: guestToken)
        }
    }

    /// Signs in on a connection of its own, and goes on as that user.
    @discardableResult
    private func signIn(
        bringsGuest: Bool, _ request: @Sendable (LineConnection, _ guestToken: String?) async throws -> SignedIn
    ) async throws -> GuestMergeResult? {
        let former = account
        let guest = store?.userID
        if isSigningOut { throw PostlineError(.invalidRequest, "Somebody is about to sign out.") }
        switch former {
        case .signingIn: throw PostlineError(.invalidRequest, "Somebody is about to sign in.")
        case .user: throw PostlineError(.invalidRequest, "Somebody is signed in: sign out first.")
        case .guest where !bringsGuest:
            throw PostlineError(
                .invalidRequest, "A guest is here, whose data would be lost: sign in by password, or sign out first.")
        case .guest, .localGuest, .nobody: break
        }
        account = .signingIn(guest: guest)
        // What still can goes out as the guest's, and is merged by the server.
        try? await engine?.drainOutbox(atMost: .seconds(5))
        await stop()
        let answer: SignedIn
        do {
            var guestToken: String?
            if case .guest(let id) = former { guestToken = try TokenKeeper.load(id, from: secrets)?.refreshToken }
            let connection = try await LineConnection.connect(to: server, by: connector)
            defer { connection.close() }
            answer = try await request(connection, guestToken)
            let tokens = answer.tokens
            // From here on the guest is the account's, for the server: what fails now is done by the next launch.
            try TokenKeeper.store(tokens, in: secrets)
            try DeviceState.set(tokens.userID, movingFrom: guest, in: folder)
        } catch {
            // Who was here before still is.
            account = former
            if guest != nil { try? restart() }
            throw error
        }
        try restart()
        return answer.merged
    }

    /// Asks for tokens. A guest's session that is over brings nothing along, and keeps nobody from signing in: its account
    /// may be the very one, of an upgrade whose answer was lost.
    private static func requestTokens(
        _ connection: LineConnection, _ method: String, _ params: [String: JSONValue], guestToken: String?
    ) async throws -> SignedIn {
        guard let guestToken else { return try await connection.call(method, params) }
        do {
            return try await connection.call(
                method, params.merging(["guest_refresh_token": .string(guestToken)]) { $1 })
        } catch let error as PostlineError where error.code == .invalidToken {
            return try await connection.call(method, params)
        }
    }

    /// The guest of this device has become one of the server's.
    func adoptGuest(_ tokens: Tokens) throws {
        guard account == .localGuest else { return }
        try TokenKeeper.store(tokens, in: secrets)
        try DeviceState.set(tokens.userID, movingFrom: DeviceState.localGuest, in: folder)
        work = nil
        try restart()
    }

    /// Goes on as whom the device's state names now. What fails here is shown, and done by the next launch.
    func restart() throws {
        work?.cancel()
        (work, engine) = (nil, nil)
        do {
            try store?.close(erasing: false)
            store = nil
            try resume()
        } catch {
            let error =
                error as? PostlineError
                ?? PostlineError(.storeUnusable, "The store in \(folder.path) cannot be used: \(error)")
            show(signedOutBecause: error)
            throw error
        }
    }

    /// Goes on as whoever was here last. A guest's move to an account that was cut off is done again: each of its steps may
    /// be.
    func resume() throws {
        var device = try DeviceState.read(in: folder)
        guard let userID = device.userID else { return }
        if let guest = device.movingFrom {
            try moveData(ofGuest: guest, to: userID)
            device.movingFrom = nil
            try device.write(in: folder)
        }
        try activate(userID)
    }

    /// Brings what a guest's file still has to send into the user's, and takes away what there is of the guest.
    private func moveData(ofGuest guest: String, to userID: String) throws {
        guard guest != userID else { return }
        if FileManager.default.fileExists(atPath: Store.url(folder, guest).path) {
            let old = try Store(folder: folder, userID: guest)
            let left = try old.readNow {
                UnsyncedData(changes: try $0.changes(), drafts: try $0.drafts(), data: try $0.deviceData())
            }
            let new = try Store(folder: folder, userID: userID)
            // A guest of this device alone becomes one of the server's with all it has; an account has its own.
            let isGuest = try TokenKeeper.load(userID, from: secrets)?.isGuest == true
            try new.writeNow { try $0.importUnsynced(left, fillingOnly: !isGuest) }
            try new.close(erasing: false)
            try old.close(erasing: true)
        }
        try secrets.erase(named: guest)
    }
}
