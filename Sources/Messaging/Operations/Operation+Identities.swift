import Accounts
import WireProtocol

extension Operation {
    /// The methods `auth.apple` and `auth.merge_guest`, which accept another server's tokens.
    static let identities = [apple, mergeGuest]

    private static let apple = Operation(
        "auth.apple", .anyone,
        "Signs in with Apple, creates the account on first use, and merges a guest if its token is given.",
        [
            .identityToken(.required), .nonce,
            Parameter(
                "full_name", .string(.characters(1...100), validatedBy: .database), .optional,
                "The name that others see. Used only when the account is created."),
            .guestRefreshToken,
        ],
        result: .tokensAndMerged, errors: [.invalidCredentials, .invalidToken, .tokenExpired, .forbidden]
    ) { session, params throws(ProtocolError) in
        let apple = try session.service.accounts.requireApple()
        try session.limits.takeSignIn(from: session.peerAddress)
        let identity = try await apple.verify(
            try params.required("identity_token"), nonce: params.string("nonce"))
        var guest: RefreshToken?
        if let text = params.string("guest_refresh_token") { guest = try session.service.accounts.guestToken(text) }
        // A connection of another user is rejected before the token is used up.
        if let user = await session.userID {
            let account = try await session.service.accounts.account(of: identity)
            try await session.requireNoOtherUser(than: account ?? (guest == nil ? nil : user))
        }
        let (account, merged) = try await session.service.accounts.signIn(
            with: identity, fullName: params.string("full_name"), guest: guest)
        await session.recordWriteTimeAndNotifyFeed()
        let tokens = try await session.signIn(account).tokens
        return Answer(.object(JSONObject(tokens.members + (merged.map { [.init(name: "merged", value: $0)] } ?? []))))
    }

    private static let mergeGuest = Operation(
        "auth.merge_guest", .user,
        "Merges a guest into the caller's account if another server keeps the accounts.",
        [Parameter("guest_access_token", .string(.any), "The guest's access token by that server.")],
        result: .merged, errors: [.invalidToken, .tokenExpired, .forbidden]
    ) { session, params throws(ProtocolError) in
        let account = try await session.token
        try session.limits.takeSignIn(from: session.peerAddress)
        let merged = try await session.service.accounts.merge(
            guestAccessToken: try params.required("guest_access_token"), into: account)
        await session.recordWriteTimeAndNotifyFeed()
        return Answer(.result(merged))
    }
}

extension Parameter {
    /// Apple's identity token.
    static func identityToken(_ requirement: Requirement) -> Parameter {
        Parameter(
            "identity_token", .string(.bytes(1...8_192)), requirement, "Apple's identity token, which can be used once."
        )
    }

    static let nonce = Parameter(
        "nonce", .string(.bytes(1...256)), .optional,
        "The nonce that the app sent to Apple, or whose SHA-256 it sent in hexadecimal digits.")

    static let guestRefreshToken = Parameter(
        "guest_refresh_token", .string(.any), .optional, "The refresh token of a guest to merge into this account.")
}
