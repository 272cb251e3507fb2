public import Foundation
import Foundations

/// Device pushes, which reach the user while the app is not open.
extension PostlineClient {
    /// A service that delivers pushes to devices.
    public struct PushPlatform: ExtensibleEnum {
        /// The protocol's name.
        public let rawValue: String
        /// Creates a value from the protocol's name, known to this version or not.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Apple Push Notification service.
        public static let apns: Self = "apns"
        /// Firebase Cloud Messaging.
        public static let fcm: Self = "fcm"
        /// A server of the app's operator.
        public static let webhook: Self = "webhook"
    }

    /// Registers this device for pushes about messages while the app is not open. The registration applies to the
    /// current user and to each later sign-in. Call it with each token that the system gives; it replaces the previous
    /// one.
    ///
    /// - Parameters:
    ///   - platform: The push service.
    ///   - token: The device's token at the service, at most 2,048 bytes.
    ///   - isSandbox: True if the token is from the service's sandbox, as for apps that Xcode runs.
    ///   - locale: The language of the pushes (BCP 47), or nil for the device's language.
    /// - Throws: ``PostlineError``: `forbidden` if the server does not push through this service, `invalid_params`,
    ///   `unknown_method` if the server has no pushes, `store_unusable`. Without a connection, or if the server is
    ///   busy, the client registers the device later and does not throw.
    public func registerDevice(
        _ platform: PushPlatform, token: String, isSandbox: Bool = false, locale: String? = nil
    ) async throws(PostlineError) {
        let device = RegisteredDevice(
            platform: platform.rawValue, token: token, environment: isSandbox ? "sandbox" : "production",
            locale: locale ?? Self.languageTag)
        try await convertingErrors {
            try registration.update { $0.setDevice(to: device) }
            do {
                try await engine?.registerDevice()
            } catch let error as PostlineError where [.forbidden, .invalidParams, .unknownMethod].contains(error.code) {
                // This server refuses the platform, so the device is not offered to it again.
                try registration.update { if $0.device == device { $0.setDevice(to: nil) } }
                throw error
            } catch let error as PostlineError where error.code != .storeUnusable {
                // The registration is retried, with the next connection at the latest.
            }
        }
    }

    /// Registers this device by the token from `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public func registerDevice(apnsToken: Data, isSandbox: Bool = false, locale: String? = nil)
        async throws(PostlineError)
    {
        let token = apnsToken.hexadecimal
        try await registerDevice(.apns, token: token, isSandbox: isSandbox, locale: locale)
    }

    /// Stops pushes to this device. Without a connection the server keeps pushing until the next one.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    public func unregisterDevice() async throws(PostlineError) {
        try await convertingErrors {
            try registration.update { $0.setDevice(to: nil) }
            do {
                try await engine?.registerDevice()
            } catch let error as PostlineError where error.code != .storeUnusable {
                // The removal is retried, with the next connection at the latest.
            }
        }
    }

    /// Fetches the changes that a push announces, also in the background, so that a tap opens a chat that is already
    /// loaded. Applies read marks of other devices. It does not show the user as online. If the system launches the app
    /// for a push, create the client with `isInBackground`.
    ///
    /// - Parameters:
    ///   - payload: The push.
    ///   - limit: The time limit.
    /// - Returns: True if the fetch brought something new, the result for the system's completion handler.
    public func handle(_ payload: PushPayload, within limit: Duration = .seconds(20)) async -> Bool {
        let conversationID = payload.conversationID
        func newest() -> Int { conversations.first { $0.id == conversationID }?.lastSeq ?? 0 }
        let before = newest()
        await showChangesOfProcesses()
        guard store != nil, let engine else { return false }
        let isUpToDate = await engine.fetch(within: limit)
        let isRead = payload.kind == .read
        if !isUpToDate, isRead, let seq = payload.seq {
            // Read on another device. The mark never exceeds the last known message.
            try? await write(isDurable: false) { try $0.advanceReadMark(of: conversationID, to: min(seq, before)) }
        }
        await reload()
        // A reaction, and a kind of a newer server, may announce any change.
        guard payload.kind == .message, let seq = payload.seq else { return isRead || isUpToDate }
        return before < seq && seq <= newest()
    }

    /// Sends the pending changes and fetches new ones, also in the background, and returns when both are done. Call it
    /// from a background task, or when the system wakes the app for a background URL session. It does not show the user
    /// as online.
    ///
    /// It also returns when the time is over or the calling task is cancelled. What is not sent then stays in the
    /// outbox, and a change whose response was lost is not applied twice.
    ///
    /// - Parameter limit: The time limit. The system gives an app about 30 seconds.
    /// - Returns: True if no change is pending and the store has all changes of the server.
    public func sync(within limit: Duration = .seconds(20)) async -> Bool {
        await showChangesOfProcesses()
        guard store != nil, let engine else { return false }
        let isDone = await engine.fetch(within: limit, sending: true)
        await reload()
        return isDone && pendingChangeCount == 0
    }

    /// The device's language. The server shortens long tags and ignores unknown ones.
    private static var languageTag: String { Locale.current.identifier(.bcp47) }
}

extension ProfileEdit {
    /// True if the user's devices are notified of reactions to the user's messages, while the app is not open.
    public var notifiesOfReactions: Bool {
        get { preferences["notify_reactions"] == true }
        set { preferences["notify_reactions"] = newValue ? true : nil }
    }
}

extension Me {
    /// True if the user's devices are notified of reactions to the user's messages.
    public var notifiesOfReactions: Bool { preferences["notify_reactions"] == true }
}
