import Foundation

/// Signing in and out.
extension PostlineClient {
    /// Creates an account and signs in to it. A guest becomes the account, with its data.
    ///
    /// - Parameters:
    ///   - email: The address to sign in with.
    ///   - password: 8 to 72 bytes.
    ///   - fullName: 1 to 100 characters.
    ///   - username: 3 to 30 characters of a-z, 0-9, `_` and `.`, beginning with a letter, or nil for none yet.
    /// - Throws: ``PostlineError``: `email_taken`, `username_taken`, `invalid_params`, `offline`, `not_trusted`,
    ///   `rate_limited`; `email_unconfirmed` if the server requires a confirmed address: the account exists, the server
    ///   has sent a mail, and ``signIn(email:password:)`` works after the confirmation; `invalid_request` if a user is
    ///   signed in.
    public func register(email: String, password: String, fullName: String, username: String? = nil)
        async throws(PostlineError)
    {
        if case .guest = account {
            try await upgrade(email: email, password: password, fullName: fullName)
            if let username { try await updateProfile { $0.username = username } }
            return
        }
        var params: [String: JSONValue] = [
            "email": .email(email), "password": .string(password), "full_name": .string(fullName),
        ]
        if let username { params["username"] = .string(username) }
        try await signIn("auth.register", params)
    }

    /// The data of a guest that the server merged into the account.
    public struct GuestMergeSummary: Sendable, Hashable, Codable {
        /// The number of conversations.
        public var conversations: Int
        /// The number of messages.
        public var messages: Int
    }

    /// Signs in to an account and merges the device's guest into it. The account's own values win, and the guest's
    /// unsent changes are kept.
    ///
    /// - Returns: The guest's merged data, or nil if there was no guest.
    /// - Throws: ``PostlineError``: `invalid_credentials`, `email_unconfirmed`, `offline`, `not_trusted`,
    ///   `rate_limited`; `invalid_request` if a user is signed in. After an error the guest stays.
    @discardableResult
    public func signIn(email: String, password: String) async throws(PostlineError) -> GuestMergeSummary? {
        try await signIn("auth.login", ["email": .email(email), "password": .string(password)])
    }

    /// Connects to the server and closes the connection again, without signing in.
    ///
    /// - Throws: ``PostlineError``: `offline`, or `not_trusted` if no Postline server answers, or TLS fails.
    package func checkServer() async throws(PostlineError) {
        try await LineConnection.connect(to: server, by: connector).close()
    }

    /// Signs in with Apple and creates the account at the first time. The device's guest is merged into an existing
    /// account, or becomes the new one with the same id.
    ///
    /// - Parameters:
    ///   - appleIdentityToken: The credential's `identityToken` as text. It is valid once: request another from Apple
    ///     if this fails with `invalid_token`.
    ///   - nonce: The request's `nonce`, or the value that it is a hash of. Nil if there was none.
    ///   - fullName: The name that Apple returns at the first sign-in only. A new account gets it.
    /// - Returns: The guest's merged data, or nil if there was no guest.
    /// - Throws: ``PostlineError``: `invalid_token`, `token_expired`, `invalid_credentials` for a disabled account,
    ///   `forbidden` if the server does not accept Apple's tokens, `unavailable`, `offline`, `not_trusted`,
    ///   `rate_limited`; `invalid_request` if a user is signed in. After an error the guest stays.
    @discardableResult
    public func signIn(
        appleIdentityToken: String, nonce: String? = nil, fullName: String? = nil
    ) async throws(PostlineError) -> GuestMergeSummary? {
        var params: [String: JSONValue] = ["identity_token": .string(appleIdentityToken)]
        if let nonce { params["nonce"] = .string(nonce) }
        if let fullName { params["full_name"] = .string(fullName) }
        return try await signIn("auth.apple", params)
    }

    /// Signs in with an access token only. It cannot be renewed, so the session ends when it expires.
    ///
    /// - Throws: ``PostlineError``: `invalid_token`, `token_expired`, `session_revoked`, `offline`, `not_trusted`;
    ///   `invalid_request` if a user is signed in, or a guest that the server knows, whose data would be lost.
    public func signIn(accessToken: String) async throws(PostlineError) {
        _ = try await signIn(accessToken, guestAccessToken: nil)
    }

    /// Signs in with an access token of another server that keeps the accounts, such as Supabase, and merges this
    /// device's guest, an anonymous user of that server.
    ///
    /// - Returns: The guest's merged data.
    /// - Throws: The errors of ``signIn(accessToken:)``, and `forbidden` if the server keeps the accounts itself. After
    ///   an error the guest stays.
    @discardableResult
    public func signIn(accessToken: String, guestAccessToken: String) async throws(PostlineError) -> GuestMergeSummary?
    {
        try await signIn(accessToken, guestAccessToken: guestAccessToken)
    }

    private func signIn(_ accessToken: String, guestAccessToken: String?) async throws(PostlineError)
        -> GuestMergeSummary?
    {
        try await signIn(mergesGuest: guestAccessToken != nil) { connection, _ in
            struct Session: Decodable, Sendable {}
            let _: Session = try await connection.call("session.authenticate", ["access_token": accessToken])
            var merged: GuestMergeSummary?
            if let guestAccessToken {
                merged = try await connection.call("auth.merge_guest", ["guest_access_token": guestAccessToken])
            }
            let me: Me = try await connection.call("me.get", [String: String]())
            return SignInResult(
                tokens: Tokens(accessToken: accessToken, refreshToken: nil, userID: me.id, isGuest: me.isGuest),
                merged: merged)
        }
    }

    /// Creates a guest at the server and signs in as it.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_trusted`, `rate_limited`; `invalid_request` if a user or such a
    ///   guest is signed in already.
    public func signInAsGuest(fullName: String? = nil) async throws(PostlineError) {
        try await signIn("auth.guest", fullName.map { ["full_name": .string($0)] } ?? [:])
    }

    /// Starts as a guest, also without a network. The device keeps the guest's edits and sends them once the server is
    /// reachable. Does nothing if a user or guest is signed in.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    public func continueAsGuest() throws(PostlineError) {
        guard store == nil, account == .signedOut, !isSigningOut else { return }
        try convertingErrors {
            try locks.lockingFolder {
                // Another process may have signed in.
                if try isDeviceUser(nil) {
                    try DeviceState.set(DeviceState.localGuest, in: folder)
                }
            }
            try restart()
        }
    }

    /// Turns the guest into an account with the same id, conversations and data.
    ///
    /// - Parameters:
    ///   - email: The address to sign in with.
    ///   - password: 8 to 72 bytes.
    ///   - fullName: 1 to 100 characters, or nil to keep the guest's name.
    /// - Throws: ``PostlineError``: `email_taken`, `invalid_params`, `offline`, `rate_limited`; `forbidden` if the user
    ///   has an account already.
    public func upgrade(email: String, password: String, fullName: String? = nil) async throws(PostlineError) {
        var params: [String: JSONValue] = ["email": .email(email), "password": .string(password)]
        if let fullName { params["full_name"] = .string(fullName) }
        let engine = try currentEngine()
        let tokens = try await convertingErrors { try await engine.upgrade(params) }
        guard engine === self.engine else { return }
        account = .user(id: tokens.userID)
        // The upgrade is done. If this call fails, the sync brings the account's data.
        var changes = Changes()
        changes.me = try? await engine.call("me.get", [String: String]())
        try? await apply(changes, from: engine)
    }

    /// Signs out, hides all data of the user and erases the tokens. Without a connection it keeps the tokens, only to
    /// end the session at the server as soon as that can be reached, also after the next launch.
    ///
    /// - Parameters:
    ///   - erasing: True to erase the user's data and unsent changes from the device. Otherwise they are shown again
    ///     after the next sign-in.
    ///   - everywhere: True to end the user's sessions on all devices.
    /// - Throws: ``PostlineError``: `store_unusable` if the ``SecretStore`` or the file system fails. With `everywhere`
    ///   also `offline`; the user then stays signed in.
    public func signOut(erasing: Bool = false, everywhere: Bool = false) async throws(PostlineError) {
        if case .signingIn = account { throw PostlineError(.invalidRequest, "A sign-in is in progress.") }
        guard let store, !isSigningOut else { return }
        let userID = store.userID
        let keeper = engine?.keeper
        isSigningOut = true
        defer { isSigningOut = false }
        var hasEnded = false
        if everywhere {
            _ = try await call("auth.logout", ["all": true], as: EmptyResult.self)
            hasEnded = true
        } else if case .live = state, let engine {
            // The server has 2 s to end the session.
            hasEnded = await withTaskGroup { group in
                group.addTask {
                    (try? await engine.call("auth.logout", [String: String](), as: EmptyResult.self)) != nil
                }
                group.addTask {
                    try? await Task.sleep(for: .seconds(2))
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() == true
            }
        }
        await stop()
        await keeper?.retire()
        await retirePictures()
        // The server may have ended the session first.
        guard store === self.store else { return }
        try await convertingErrors {
            // A renewal of another process would store the tokens again.
            try await locks.lockingSession {
                try locks.lockingFolder {
                    if try isDeviceUser(userID) {
                        if !hasEnded, let tokens = try TokenKeeper.load(userID, from: secrets) {
                            try endedSessions.add(tokens)
                        }
                        try secrets.erase(named: userID.rawValue)
                        try DeviceState.set(nil, in: folder)
                    }
                    sharedState.device = nil
                    show(signedOutBecause: nil)
                    try store.close(erasing: erasing)
                }
            }
        }
        if !hasEnded { endKeptSessions() }
    }

    /// The result of a sign-in.
    private struct SignInResult: Decodable, Sendable {
        let tokens: Tokens
        let merged: GuestMergeSummary?

        private enum CodingKeys: String, CodingKey {
            case merged
        }

        init(tokens: Tokens, merged: GuestMergeSummary?) {
            self.tokens = tokens
            self.merged = merged
        }

        init(from decoder: any Decoder) throws {
            tokens = try Tokens(from: decoder)
            merged = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
                GuestMergeSummary.self, forKey: .merged)
        }
    }

    /// Signs in by a method of the protocol. Signing in to an account merges the device's guest.
    @discardableResult
    private func signIn(
        _ method: String, _ params: [String: JSONValue]
    ) async throws(PostlineError) -> GuestMergeSummary? {
        try await signIn(mergesGuest: ["auth.login", "auth.apple"].contains(method)) { connection, guestToken in
            try await Self.requestTokens(connection, method, params, guestToken: guestToken)
        }
    }

    /// Signs in on a separate connection, and switches to that user.
    @discardableResult
    private func signIn(
        mergesGuest: Bool, _ request: @Sendable (LineConnection, _ guestToken: String?) async throws -> SignInResult
    ) async throws(PostlineError) -> GuestMergeSummary? {
        let former = account
        let guest = store?.userID
        if isSigningOut { throw PostlineError(.invalidRequest, "A sign-out is in progress.") }
        switch former {
        case .signingIn: throw PostlineError(.invalidRequest, "A sign-in is in progress.")
        case .user: throw PostlineError(.invalidRequest, "A user is signed in. Sign out first.")
        case .guest where !mergesGuest:
            throw PostlineError(
                .invalidRequest,
                "A guest is signed in, whose data would be lost. Sign in by password, or sign out first.")
        case .guest, .localGuest, .signedOut: break
        }
        // Changes that are sent now are the guest's, and the server merges them. After the merge there may be another
        // conversation in place of theirs.
        let hasChanges = guest != nil && former != .localGuest && pendingChangeCount > 0
        if hasChanges, engine == nil { try? restart() }
        account = .signingIn(guest: guest)
        if hasChanges { _ = try? await engine?.readyConnection() }
        try? await engine?.drainOutbox(atMost: .seconds(5))
        await stop()
        let answer: SignInResult
        do {
            answer = try await convertingErrors {
                let connection = try await LineConnection.connect(to: server, by: connector)
                defer { connection.close() }
                return try await locks.lockingSession {
                    guard try isDeviceUser(guest) else {
                        throw PostlineError(.invalidRequest, "Another process of the app has signed in or out.")
                    }
                    var guestToken: String?
                    if case .guest(let id) = former {
                        guestToken = try TokenKeeper.load(id, from: secrets)?.refreshToken
                    }
                    let answer = try await request(connection, guestToken)
                    // The server has merged the guest. If a step below fails, the next launch finishes it.
                    try TokenKeeper.store(answer.tokens, in: secrets)
                    try locks.lockingFolder {
                        try DeviceState.set(answer.tokens.userID, movingFrom: guest, in: folder)
                    }
                    return answer
                }
            }
        } catch {
            // The previous user or guest stays.
            account = former
            if guest != nil || locks.isShared { try? restart() }
            throw error
        }
        // A download must not bring the guest's folder back.
        if guest != nil { await retirePictures() }
        try convertingErrors { try restart() }
        return answer.merged
    }

    /// Requests tokens. If the guest's session has ended, it signs in without merging: the guest may have become this
    /// very account by an upgrade whose response was lost.
    private static func requestTokens(
        _ connection: LineConnection, _ method: String, _ params: [String: JSONValue], guestToken: String?
    ) async throws(PostlineError) -> SignInResult {
        guard let guestToken else { return try await connection.call(method, params) }
        do {
            return try await connection.call(
                method, params.merging(["guest_refresh_token": .string(guestToken)]) { $1 })
        } catch  where error.code == .invalidToken {
            return try await connection.call(method, params)
        }
    }

    /// Switches from the local guest to the guest that the server created.
    func adoptGuest(_ tokens: Tokens) async throws {
        try await locks.lockingSession {
            // The user, or another process, may have signed in meanwhile.
            guard account == .localGuest, try isDeviceUser(DeviceState.localGuest) else { return }
            try TokenKeeper.store(tokens, in: secrets)
            try locks.lockingFolder {
                try DeviceState.set(tokens.userID, movingFrom: DeviceState.localGuest, in: folder)
            }
            engineTask = nil
            try restart()
        }
    }

    /// Restarts as the user in the device's state. An error is shown, and the next launch tries again.
    func restart() throws {
        engineTask?.cancel()
        (engineTask, engine) = (nil, nil)
        do {
            try store?.close(erasing: false)
            store = nil
            try locks.lockingFolder { try resume() }
        } catch {
            let error =
                error as? PostlineError
                ?? PostlineError(.storeUnusable, "The store in \(folder.path) cannot be used: \(error)")
            show(signedOutBecause: error)
            throw error
        }
    }

    /// Opens the store of the last user. Repeats an interrupted move of a guest's data, whose steps are idempotent.
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

    /// Moves a guest's unsynced data to the user's store, and erases the guest's file and tokens.
    private func moveData(ofGuest guest: User.ID, to userID: User.ID) throws {
        guard guest != userID else { return }
        if FileManager.default.fileExists(atPath: Store.url(folder, guest).path) {
            let old = try Store(folder: folder, userID: guest, isShared: locks.isShared)
            let new = try Store(folder: folder, userID: userID)
            // A guest at the server has only what the local guest brings. An account's own values win.
            let isGuest = try TokenKeeper.load(userID, from: secrets)?.isGuest == true
            // A write of another process is moved, or fails and is repeated in the new file.
            try old.writeNow { writer in
                let left = UnsyncedData(
                    changes: try writer.reader.changes(), drafts: try writer.reader.drafts(),
                    data: try writer.reader.deviceData())
                try old.outboxFiles.moveAll(to: new.outboxFiles)
                try new.writeNow { writer in
                    // Until the first sync the new guest is shown as the device had it.
                    if isGuest, try writer.reader.serverMe() == nil { try writer.apply(Me.newGuest(userID)) }
                    try writer.importUnsynced(left, fillingOnly: !isGuest)
                }
                try old.erase()
            }
            try new.close(erasing: false)
            try old.close(erasing: true)
        }
        try secrets.erase(named: guest.rawValue)
    }
}
