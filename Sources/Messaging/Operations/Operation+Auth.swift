extension Operation {
    /// `auth.*`: the accounts that Postline keeps.
    static let auth = [
        Operation("auth.register", .anyone, ["email", "password", "username", "full_name"]) {
            session, params throws(ProtocolError) in
            let email = try params.required("email") { name throws(ProtocolError) in try params.email(name) }
            let password = try params.required("password") { name throws(ProtocolError) in
                try params.string(name, bytes: 8...72)
            }
            let username = try params.string("username")
            let fullName = try params.required("full_name") { name throws(ProtocolError) in try params.string(name) }
            try await session.requireMayBecome(nil)
            let accounts = session.service.accounts
            let user = try await accounts.register(
                email: email, password: password, username: username, fullName: fullName)
            return try await session.signIn(user)
        },
        Operation("auth.login", .anyone, ["email", "password"]) { session, params throws(ProtocolError) in
            let email = try params.required("email") { name throws(ProtocolError) in try params.string(name) }
            let password = try params.required("password") { name throws(ProtocolError) in try params.string(name) }
            let user = try await session.service.accounts.holder(email: email, password: password)
            try await session.requireMayBecome(user)
            return try await session.signIn(user)
        },
    ]
}

extension Session {
    /// Opens a session of that user on this connection, and answers with its tokens.
    fileprivate func signIn(_ user: ID) async throws(ProtocolError) -> Answer {
        let signedIn = try await service.accounts.openSession(for: user)
        try become(signedIn.token)
        return Answer(.object(signedIn.tokens))
    }
}

extension Params {
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
