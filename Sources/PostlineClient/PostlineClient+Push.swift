public import Foundation

/// How a user is reached while no app of its is open.
extension PostlineClient {
    /// Who pushes to a device.
    public struct PushPlatform: OpenEnum {
        /// The protocol's word.
        public let rawValue: String
        /// Takes the protocol's word, whether this version knows it or not.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Apple Push Notification service.
        public static let apns: Self = "apns"
        /// Firebase Cloud Messaging.
        public static let fcm: Self = "fcm"
        /// A server of the app's operator.
        public static let webhook: Self = "webhook"
    }

    /// Has this device be told of messages while the app is not open, for whoever is signed in on it: now, and with each
    /// sign-in to come. To be called with each token that the system gives.
    ///
    /// - Parameters:
    ///   - platform: who pushes to it.
    ///   - token: what the platform knows the device by, of at most 2,048 bytes.
    ///   - isSandbox: whether the token is of the platform's sandbox, as those of apps that Xcode runs are.
    ///   - locale: the language of what it shows, by BCP 47; nil: the device's.
    /// - Throws: ``PostlineError``: `forbidden` where the server does not push by that platform, `invalid_params`, `unknown_method`
    ///   of a server that does not push at all, `store_unusable`. Without a connection it is done with the next, and where the server is too busy, later. What the
    ///   device was registered by before is forgotten.
    public func registerDevice(
        _ platform: PushPlatform, token: String, isSandbox: Bool = false, locale: String? = nil
    ) async throws {
        let device = RegisteredDevice(
            platform: platform.rawValue, token: token, environment: isSandbox ? "sandbox" : "production",
            locale: locale ?? Self.languageTag)
        try registration.update { $0.setDevice(to: device) }
        do {
            try await engine?.registerDevice()
        } catch let error as PostlineError where [.forbidden, .invalidParams, .unknownMethod].contains(error.code) {
            // What this server does not take is not offered to it again.
            try registration.update { if $0.device == device { $0.setDevice(to: nil) } }
            throw error
        } catch let error as PostlineError where error.code != .storeUnusable {
            // It is tried again, with the next connection at the latest.
        }
    }

    /// The same with the token that `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` is given.
    public func registerDevice(apnsToken: Data, isSandbox: Bool = false, locale: String? = nil) async throws {
        let token = apnsToken.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try await registerDevice(.apns, token: token, isSandbox: isSandbox, locale: locale)
    }

    /// Has this device be told of nothing any more. Without a connection the server gets to know with the next, and pushes
    /// until then.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    public func unregisterDevice() async throws {
        try registration.update { $0.setDevice(to: nil) }
        do {
            try await engine?.registerDevice()
        } catch let error as PostlineError where error.code != .storeUnusable {
            // It is tried again, with the next connection at the latest.
        }
    }

    /// Fetches what a push tells of, in the background too, so that a tap opens a chat that is already there, and what was
    /// read elsewhere is read here. Nobody is told that the user is online. An app that the system has launched because of
    /// the push makes its client with `isInBackground`.
    ///
    /// - Parameters:
    ///   - push: of APNs the notification's `userInfo`, of FCM its `data`, as JSON.
    ///   - limit: how long it may take.
    /// - Returns: whether something new is here: what a background fetch is to be completed with.
    public func receive(push: [String: JSONValue], within limit: Duration = .seconds(20)) async -> Bool {
        guard store != nil, let engine, case .string(let conversationID)? = push["conversation_id"] else {
            return false
        }
        func newest() -> Int { conversations.first { $0.id == conversationID }?.lastSeq ?? 0 }
        let before = newest()
        let isHere = await engine.fetch(within: limit)
        if !isHere, let seq = push.number("read_seq") {
            // It was read somewhere; never more than what is known to be there.
            try? await write(isDurable: false) { try $0.advanceReadMark(of: conversationID, to: min(seq, before)) }
        }
        await reload()
        let seq = push.number("seq") ?? 0
        return push["read_seq"] != nil || before < seq && seq <= newest()
    }

    /// The device's language. The server shortens a long tag, and ignores one that it does not understand.
    private static var languageTag: String { Locale.current.identifier(.bcp47) }
}

extension [String: JSONValue] {
    /// A whole number, which FCM gives as a string.
    fileprivate func number(_ name: String) -> Int? {
        switch self[name] {
        case .integer(let number)? where 0...(1 << 53) ~= number: number
        case .string(let text)?: Int(text).flatMap { 0...(1 << 53) ~= $0 ? $0 : nil }
        default: nil
        }
    }
}
