public import Foundation
public import Logging
public import Observation

/// The one object that an app needs: who is signed in, what there is to see, and what can be done.
///
/// What it shows comes from a store on the device, at once and without a network; the network makes it newer. What is
/// written goes into the store first, and from there to the server, exactly once, whenever it can.
@MainActor @Observable
public final class PostlineClient {
    /// Who uses the device.
    public internal(set) var account: Account = .nobody

    /// How the device stands to the server.
    public internal(set) var state: ConnectionState = .signedOut(nil)

    /// The user's own data, with what was edited and is still on its way; nil where nobody is signed in, or nothing of
    /// the user has come yet.
    public internal(set) var me: Me?

    /// All conversations with their people, the newest first.
    public internal(set) var conversations: [Conversation] = []

    /// What the server refused, the oldest first, until it is tried again or discarded.
    public internal(set) var refusedChanges: [RefusedChange] = []

    /// How much was written here that the server has not answered yet.
    public internal(set) var pendingChangeCount = 0

    /// What only this device knows of the user, in the app's own words (``setDeviceData(_:to:)``).
    public internal(set) var deviceData: [String: JSONValue] = [:]

    /// Who is just typing, by conversation: the ids of users, who began first stands first.
    public internal(set) var typingUserIDs: [String: [String]] = [:]

    /// Why the last try to connect failed, or the connection was lost; nil while there is one.
    public internal(set) var connectionError: PostlineError?

    /// Where the store cannot be used: what it says. It is tried again with each connection.
    public internal(set) var storeError: PostlineError?

    /// Whether something was written since what is shown was read.
    @ObservationIgnored var isStale = false
    @ObservationIgnored var isReloading = false
    @ObservationIgnored var reloadWaiters: [CheckedContinuation<Bool, Never>] = []
    @ObservationIgnored var chats: [String: WeakChat] = [:]
    @ObservationIgnored var store: Store?
    @ObservationIgnored var engine: SyncEngine?
    @ObservationIgnored var isInBackground = false
    /// Whether the app wants no connection.
    @ObservationIgnored var isDisconnecting = false
    @ObservationIgnored var isSigningOut = false
    /// Until when they are said to type.
    @ObservationIgnored var typingExpirations: [TypingKey: ContinuousClock.Instant] = [:]
    /// Rings when somebody else types.
    let typingSignal = AsyncSignal()
    /// Rings when it is worth a try to connect.
    let connectSignal = AsyncSignal()
    /// The engine at work: cancelled by whoever takes the engine away.
    @ObservationIgnored var work: Task<Void, Never>?
    /// Rings when the network's path changes.
    @ObservationIgnored var networkWatch: AnyObject?

    let server: Server
    let folder: URL
    let secrets: any SecretStore
    let connector: any Connector
    /// What this device is registered by, for pushes.
    let registration: DeviceRegistration
    let legacy: (any LegacyData)?
    let logger: Logger

    /// Who uses the device.
    public enum Account: Sendable, Hashable {
        /// Nobody is signed in, and there is no guest.
        case nobody
        /// A guest whom the server does not know yet: there was no connection since.
        case localGuest
        /// A guest whom the server knows.
        case guest(id: String)
        /// Somebody with an account.
        case user(id: String)
        /// Somebody who is just signing in; with the id of the guest who was here before, where there was one.
        case signingIn(guest: String?)
    }

    /// Where the store is.
    public struct Location: Sendable {
        let folder: URL

        /// A folder of the app's, which is made where it is missing. Each user has a file of its own there.
        public static func file(in folder: URL) -> Location { Location(folder: folder) }
    }

    /// Shows what the device has of whom was signed in last, and connects.
    ///
    /// - Parameters:
    ///   - server: where the server is, and how to speak to it.
    ///   - store: where the device keeps what it knows.
    ///   - secrets: where it keeps its tokens; nil: the keychain, where there is one, else files of the user alone.
    ///   - authorities: the certificates to trust, as PEM; nil: those that the system trusts.
    ///   - legacyData: what a former version of the app kept on the device.
    ///   - isInBackground: whether nobody sees the app, as when the system has launched it because of a push: nothing
    ///     connects then but ``receive(push:within:)``, until ``enterForeground()``.
    ///   - logger: where it says what goes wrong; no token and no content of a message is in it.
    /// - Throws: ``PostlineError``: `store_unusable`, also for a store that a newer version of the app has made.
    public convenience init(
        server: Server, store: Location, secrets: (any SecretStore)? = nil, authorities: String? = nil,
        legacyData: (any LegacyData)? = nil, isInBackground: Bool = false,
        logger: Logger = Logger(label: "postline.client")
    ) throws {
        try self.init(
            server: server, store: store, secrets: secrets ?? Platform.secrets(in: store.folder),
            connector: Platform.connector(authorities: authorities), legacyData: legacyData,
            isInBackground: isInBackground, logger: logger)
    }

    isolated deinit { work?.cancel() }

    init(
        server: Server, store: Location, secrets: any SecretStore, connector: any Connector,
        legacyData: (any LegacyData)?, isInBackground: Bool = false, logger: Logger
    ) throws {
        self.server = server
        folder = store.folder
        self.secrets = secrets
        self.connector = connector
        legacy = legacyData
        registration = DeviceRegistration(folder: store.folder)
        self.isInBackground = isInBackground
        self.logger = logger
        try restart()
        networkWatch = Platform.onNetworkChange { [connectSignal] in connectSignal.signal() }
    }
}
