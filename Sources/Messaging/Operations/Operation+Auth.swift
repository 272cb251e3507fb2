extension Operation {
    /// `auth.*`: the accounts that Postline keeps.
    static let auth = [
        Operation("auth.register", .anyone, ["email", "password", "username", "full_name"]) {
            session, params throws(ProtocolError) in
            let email = try params.required("email") { name throws(ProtocolError) in try params.email(name) }
            let password = try params.required("password") { name throws(ProtocolError) in try params.password(name) }
            let username = try params.string("username")
            let fullName = try params.requiredString("full_name")
            try await session.requireMayBecome(nil)
            try session.limits.takeSignIn(from: session.peerAddress)
            let holder = try await session.accounts.register(
                email: email, password: password, username: username, fullName: fullName)
            return try await session.signIn(holder)
        },
        Operation("auth.login", .anyone, ["email", "password", "guest_refresh_token"]) {
            session, params throws(ProtocolError) in
            // In one spelling for the count of failures and for the database: another is no further try.
            let email = try params.required("email") { name throws(ProtocolError) in
                try params.string(name)?.lowercased()
            }
            let password = try params.required("password") { name throws(ProtocolError) in
                try params.givenPassword(name)
            }
            let guestToken = try params.string("guest_refresh_token")
            try session.limits.takeSignIn(from: session.peerAddress)
            let holder = try await session.limits.counting(.signIns(with: email)) { () throws(ProtocolError) in
                try await session.accounts.holder(email: email, password: password)
            }
            try await session.requireMayBecome(holder.user)
            guard let guestToken else { return try await session.signIn(holder) }
            let merged = try await session.accounts.merge(guestRefreshToken: guestToken, into: holder)
            session.service.feed.changed()
            return try await session.signIn(holder, adding: [.init(name: "merged", value: merged)])
        },
        Operation("auth.guest", .anyone, ["full_name"]) { session, params throws(ProtocolError) in
            let fullName = try params.string("full_name")
            try await session.requireMayBecome(nil)
            try session.limits.takeSignIn(from: session.peerAddress)
            return try await session.signIn(try await session.accounts.guest(fullName: fullName))
        },
        Operation("auth.upgrade", .user, ["email", "password", "full_name"]) { session, params throws(ProtocolError) in
            let email = try params.required("email") { name throws(ProtocolError) in try params.email(name) }
            let password = try params.required("password") { name throws(ProtocolError) in try params.password(name) }
            let fullName = try params.string("full_name")
            let token = try await session.token
            // The database decides; this saves it, and the hashing, the trouble.
            guard token.isGuest else { throw ProtocolError(.forbidden, "This is a full account already.") }
            try session.limits.takeSignIn(from: session.peerAddress)
            let holder = try await session.accounts.upgrade(
                token.user, email: email, password: password, fullName: fullName)
            session.service.feed.changed()
            return try await session.signIn(holder)
        },
        Operation("auth.refresh", .anyone, ["refresh_token"]) { session, params throws(ProtocolError) in
            let text = try params.requiredString("refresh_token")
            return Answer(.object(try await session.accounts.refresh(text).tokens))
        },
        Operation("auth.logout", .user, ["all"]) { session, params throws(ProtocolError) in
            let everywhere = try params.bool("all") ?? false
            let revoked = try await session.end { () throws(ProtocolError) in
                try await session.accounts.logout(session.token, everywhere: everywhere)
            }
            return Answer(.object(["revoked": .integer(revoked)]))
        },
        Operation("auth.change_password", .user, ["current_password", "new_password"]) {
            session, params throws(ProtocolError) in
            let current = try params.required("current_password") { name throws(ProtocolError) in
                try params.givenPassword(name)
            }
            let new = try params.required("new_password") { name throws(ProtocolError) in try params.password(name) }
            let token = try await session.token
            let revoked = try await session.limits.counting(token.passwordChecks) { () throws(ProtocolError) in
                try await session.accounts.changePassword(of: token, from: current, to: new)
            }
            return Answer(.object(["revoked": .integer(revoked)]))
        },
    ]
}

extension Session {
    fileprivate nonisolated var accounts: Accounts { service.accounts }

    /// Opens a session of that user on this connection, and answers with its tokens.
    fileprivate func signIn(
        _ holder: AccountHolder, adding members: [JSONObject.Member] = []
    ) async throws(ProtocolError) -> Answer {
        Answer(.object(JSONObject(try await signIn(holder).tokens.members + members)))
    }
}

extension Params {
    /// A password that may be set.
    fileprivate func password(_ name: String) throws(ProtocolError) -> String? {
        try string(name, bytes: 8...72)
    }

    /// A password to be checked. Those of accounts that came from another server may be shorter than ours, and none is
    /// longer.
    func givenPassword(_ name: String) throws(ProtocolError) -> String? {
        try string(name, bytes: 0...72)
    }

    /// An address in lower case, of the form that SQL holds it against too.
    fileprivate func email(_ name: String) throws(ProtocolError) -> String? {
        guard let address = try string(name) else { return nil }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[1].contains("."), address.utf8.count <= 254,
            !address.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
        else { throw .invalid(name, "must be an email address") }
        return address.lowercased()
    }
}
