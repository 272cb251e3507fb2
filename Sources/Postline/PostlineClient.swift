import Foundation
public import Logging
public import Observation

/// The client of a Postline server: the signed-in user, the data to show, and the actions.
///
/// It shows data from a store on the device, at once and without a network, and syncs the store with the server.
/// Changes are stored first and then sent to the server, which applies each exactly once.
@MainActor @Observable
public final class PostlineClient {
    /// The user or guest of this device.
    public internal(set) var account: Account = .signedOut

    /// The state of the connection.
    public internal(set) var state: ConnectionState = .signedOut(nil) {
        didSet { if state != oldValue { emit(.stateChanged(state)) } }
    }

    /// The user's own data, with edits that are not sent yet. Nil if no user is signed in, or before the first sync.
    public internal(set) var me: Me?

    /// All conversations with their members' profiles, the newest first.
    public internal(set) var conversations: [Conversation] = []

    /// The users whom this user blocks, the first one first (``block(_:)``).
    public internal(set) var blockedUserIDs: [User.ID] = []

    /// The changes that the server refused, the oldest first, until they are retried or discarded.
    public internal(set) var refusedChanges: [RefusedChange] = []

    /// The number of changes that the server has not acknowledged yet.
    public internal(set) var pendingChangeCount = 0

    /// The app's own values for this user on this device (``setDeviceData(_:to:)``).
    public internal(set) var deviceData: [String: JSONValue] = [:]

    /// The progress of the running uploads of messages' files, of all files of a message together.
    public internal(set) var uploadProgress: [Message.ID: TransferProgress] = [:]

    /// The loader of the pictures of messages and avatars. Each signed-in user has another.
    @ObservationIgnored public internal(set) var pictures: PictureLoader

    /// The ids of users who are typing, by conversation, in the order in which they began.
    public internal(set) var typingUserIDs: [Conversation.ID: [User.ID]] = [:]

    /// The reason why the last connection failed or was lost. Nil while there is a connection.
    public internal(set) var connectionError: PostlineError?

    /// The error of the signed-in user's store, if it cannot be used. Each connection tries it again. A sign-in that
    /// cannot make a store throws the error.
    public internal(set) var storeError: PostlineError?

    /// The state of the last ``refresh()``. An error stays until the next one, or until the client is live again.
    public internal(set) var refreshState = LoadingState.idle

    /// True if the list has come from the server at least once.
    var isListLoaded = true

    /// The number of refreshes. The last one sets ``refreshState``.
    @ObservationIgnored var refreshCount = 0
    /// True if the store has changed since the last snapshot.
    @ObservationIgnored var isStale = false
    @ObservationIgnored var isReloading = false
    @ObservationIgnored var reloadWaiters: [CheckedContinuation<Bool, Never>] = []
    @ObservationIgnored var chats: [Conversation.ID: WeakChat] = [:]
    @ObservationIgnored var store: Store? { didSet { updatePictureLoader() } }
    @ObservationIgnored var eventBuffers: [WeakEventBuffer] = []
    @ObservationIgnored var engine: SyncEngine?
    @ObservationIgnored var isInBackground = false
    /// True if the app has disconnected the client.
    @ObservationIgnored var isDisconnecting = false
    @ObservationIgnored var isSigningOut = false
    /// The time at which each user's typing expires.
    @ObservationIgnored var typingExpirations: [TypingKey: ContinuousClock.Instant] = [:]
    /// Signals that another user has begun or stopped typing.
    let typingSignal = AsyncSignal()
    /// Signals that a connection attempt is worthwhile.
    let connectSignal = AsyncSignal()
    /// Signals that an attempt to end the kept sessions is worthwhile.
    let logoutSignal = AsyncSignal()
    /// The task that ends the kept sessions, or nil if none runs.
    @ObservationIgnored var endingTask: Task<Void, Never>?
    /// The task that runs the engine. It must be cancelled when the engine is replaced.
    @ObservationIgnored var engineTask: Task<Void, Never>?
    /// Signals that the app has opened a chat, whose messages are to be read.
    @ObservationIgnored let chatOpened: AsyncStream<Void>.Continuation
    /// The observer of the network path, which signals `connectSignal` and `logoutSignal`.
    @ObservationIgnored var networkObserver: AnyObject?

    /// The last known state of what other processes change.
    @ObservationIgnored var sharedState = SharedState()

    let server: Server
    let folder: URL
    let locks: FolderLocks
    /// True if the folder is deleted with this client.
    let isTemporary: Bool
    let secrets: any SecretStore
    let connector: any Connector
    /// The registration of this device for pushes.
    let registration: DeviceRegistration
    let legacy: (any LegacyData)?
    let fileLimits: FileLimits
    let logger: Logger

    /// The user or guest of a device.
    public enum Account: Sendable, Hashable {
        /// No user or guest is signed in.
        case signedOut
        /// A guest that the server does not know, because there was no connection yet.
        case localGuest
        /// A guest that the server knows.
        case guest(id: User.ID)
        /// A user with an account.
        case user(id: User.ID)
        /// A sign-in is in progress. The id is that of the previous guest, if there was one.
        case signingIn(guest: User.ID?)
    }

    /// Shows the stored data of the last user, and connects.
    ///
    /// - Parameters:
    ///   - server: The server's address and transport.
    ///   - store: The location of the device's store.
    ///   - secrets: The store for tokens, or nil for the keychain, or for private files where there is no keychain.
    ///   - authorities: The trusted certificates as PEM, or nil for those of the system.
    ///   - legacyData: The data of an older version of the app.
    ///   - isInBackground: True if the app is not visible, as when the system launches it for a push. Only
    ///     ``handle(_:within:)`` and ``sync(within:)`` then connect, until ``enterForeground()``.
    ///   - fileLimits: The limits of the caches, the downloads and the outbox.
    ///   - logger: The log for errors. It never contains tokens or the content of messages.
    /// - Throws: ``PostlineError``: `store_unusable`, also for a store of a newer version of the app.
    public convenience init(
        server: Server, store: StoreLocation, secrets: (any SecretStore)? = nil, authorities: String? = nil,
        legacyData: (any LegacyData)? = nil, isInBackground: Bool = false,
        fileLimits: FileLimits = FileLimits(), logger: Logger = Logger(label: "postline.client")
    ) throws(PostlineError) {
        try self.init(
            server: server, store: store,
            secrets: secrets
                ?? (store.isTemporary ? FileSecretStore(folder: store.folder) : Platform.secrets(in: store.folder)),
            connector: Platform.connector(authorities: authorities), legacyData: legacyData,
            isInBackground: isInBackground, fileLimits: fileLimits, logger: logger)
    }

    isolated deinit {
        engineTask?.cancel()
        endingTask?.cancel()
        pictures.cancel()
        chatOpened.finish()
        for subscription in eventBuffers { subscription.buffer?.finish() }
        if isTemporary {
            try? store?.close(erasing: false)
            try? FileManager.default.removeItem(at: folder)
        }
    }

    init(
        server: Server, store: StoreLocation, secrets: any SecretStore, connector: any Connector,
        legacyData: (any LegacyData)?, isInBackground: Bool = false,
        fileLimits: FileLimits = FileLimits(), logger: Logger
    ) throws(PostlineError) {
        self.server = server
        folder = store.folder
        locks = FolderLocks(sharedFolder: store.isShared ? store.folder : nil)
        isTemporary = store.isTemporary
        self.secrets = secrets
        self.connector = connector
        legacy = legacyData
        registration = DeviceRegistration(folder: store.folder, locks: locks)
        self.isInBackground = isInBackground
        self.fileLimits = fileLimits
        pictures = Self.makePictureLoader(limits: fileLimits)
        self.logger = logger
        // Any number of chats lead to one read.
        let (openings, chatOpened) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.chatOpened = chatOpened
        try convertingErrors { try restart() }
        networkObserver = Platform.onNetworkChange { [connectSignal, logoutSignal] in
            connectSignal.signal()
            logoutSignal.signal()
        }
        followProcesses()
        endKeptSessions()
        // The task ends with the client, which finishes the stream.
        Task { [weak self] in for await _ in openings { await self?.reload() } }
    }
}
