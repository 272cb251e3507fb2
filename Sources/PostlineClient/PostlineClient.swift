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
    public private(set) var account: Account = .nobody

    /// How the device stands to the server.
    public private(set) var state: ConnectionState = .signedOut(nil)

    /// The user's own data, with what was edited and is still on its way; nil where nobody is signed in, or nothing of
    /// the user has come yet.
    public private(set) var me: Me?

    /// All conversations with their people, the newest first.
    public private(set) var conversations: [Conversation] = []

    /// What the server refused, the oldest first, until it is tried again or discarded.
    public private(set) var refusedChanges: [RefusedChange] = []

    /// How much was written here that the server has not answered yet.
    public private(set) var waitingChanges = 0

    /// Where the store cannot be used: what it says. It is tried again with each connection.
    public private(set) var storeError: PostlineError?

    /// What has changed and is not shown yet.
    @ObservationIgnored private var touched = Store.Touched()
    @ObservationIgnored private var isRefreshing = false
    @ObservationIgnored private var refreshWaiters: [CheckedContinuation<Void, Never>] = []
    @ObservationIgnored private var chats: [String: WeakChat] = [:]
    @ObservationIgnored private var store: Store?
    @ObservationIgnored private var engine: SyncEngine?
    /// The engine at work: cancelled by whoever takes the engine away.
    @ObservationIgnored private var work: Task<Void, Never>?
    /// Tells the engine of the network's changes.
    @ObservationIgnored private var networkWatch: AnyObject?

    private let server: Server
    private let folder: URL
    private let secrets: any SecretStore
    private let connector: any Connector
    private let legacy: (any LegacyData)?
    private let logger: Logger

    /// Who uses the device.
    public enum Account: Sendable, Hashable {
        case nobody
        /// A guest whom the server does not know yet: there was no connection since.
        case localGuest
        case guest(id: String)
        case user(id: String)
        /// A guest who is becoming a user.
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
    ///   - store: where the device keeps what it knows.
    ///   - secrets: where it keeps its tokens; nil: the keychain, where there is one, else files of the user alone.
    ///   - authorities: the certificates to trust, as PEM; nil: those that the system trusts.
    ///   - legacyData: what a former version of the app kept on the device.
    /// - Throws: ``PostlineError``, `store_unusable`.
    public convenience init(
        server: Server, store: Location, secrets: (any SecretStore)? = nil, authorities: String? = nil,
        legacyData: (any LegacyData)? = nil, logger: Logger = Logger(label: "postline.client")
    ) throws {
        try self.init(
            server: server, store: store, secrets: secrets ?? Platform.secrets(in: store.folder),
            connector: Platform.connector(authorities: authorities), legacyData: legacyData, logger: logger)
    }

    init(
        server: Server, store: Location, secrets: any SecretStore, connector: any Connector,
        legacyData: (any LegacyData)?, logger: Logger
    ) throws {
        self.server = server
        folder = store.folder
        self.secrets = secrets
        self.connector = connector
        legacy = legacyData
        self.logger = logger
        do {
            var device = try DeviceState.read(in: folder)
            // A move that was cut off is done again: each of its steps may be.
            if let userID = device.userID, let guest = device.movingFrom {
                try Self.move(guest, to: userID, in: folder)
                device.movingFrom = nil
                try device.write(in: folder)
            }
            if let userID = device.userID { try begin(userID) }
        } catch {
            throw error as? PostlineError ?? PostlineError(.storeUnusable, "\(folder.path) cannot be used: \(error)")
        }
    }

    // MARK: Signing in and out

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

    private struct Nothing: Decodable, Sendable {}

    /// Signs in on a connection of its own, and goes on as that user.
    private func signIn(_ method: String, _ params: [String: JSONValue]) async throws {
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
    private func keep(_ me: Me, of userID: String) async throws {
        let store = try Store(folder: folder, userID: userID)
        _ = try await store.write { try $0.apply(me) }
        try store.close(erasing: false)
    }

    /// Brings what a guest's file still has to send into the user's, and takes the file away.
    private static func move(_ guest: String, to userID: String, in folder: URL) throws {
        guard guest != userID, FileManager.default.fileExists(atPath: Store.url(folder, guest).path) else { return }
        let old = try Store(folder: folder, userID: guest)
        let (changes, drafts) = try old.readNow { (try $0.changes(), try $0.drafts()) }
        let new = try Store(folder: folder, userID: userID)
        try new.writeNow { try $0.takeOver(changes, drafts) }
        try new.close(erasing: false)
        try old.close(erasing: true)
    }

    // MARK: What runs

    /// Shows a user's store, and connects.
    private func begin(_ userID: String) throws {
        let (store, snapshot) = try open(userID)
        self.store = store
        show(snapshot)
        if userID == DeviceState.localGuest {
            account = .localGuest
            state = .offline(since: Date())
            connectGuest()
        } else if let tokens = try TokenKeeper.stored(userID, in: secrets) {
            account = tokens.isGuest ? .guest(id: userID) : .user(id: userID)
            start(store, tokens)
        } else {
            try DeviceState().write(in: folder)
            try store.close(erasing: false)
            show(nobodyBecause: nil)
        }
    }

    /// Opens a user's store, and reads what is shown first. A file that turns out to be torn is replaced.
    private func open(_ userID: String) throws -> (Store, Snapshot) {
        let store = try Store(folder: folder, userID: userID)
        do {
            if userID == DeviceState.localGuest {
                try store.writeNow { if try $0.reader.serversMe() == nil { try $0.apply(Me.localGuest) } }
            }
            try takeOverLegacyData(store)
            return (store, try snapshot(of: store))
        } catch where Store.isDamaged(error) {
            try? store.close(erasing: false)
            try Store.replaceDamaged(store.url)
            let new = try Store(folder: folder, userID: userID)
            return (new, try snapshot(of: new))
        }
    }

    private func start(_ store: Store, _ tokens: Tokens) {
        let (reports, source) = AsyncStream<SyncEngine.Report>.makeStream()
        let engine = SyncEngine(
            server: server, connector: connector, store: store, keeper: TokenKeeper(tokens: tokens, secrets: secrets),
            logger: logger, report: { source.yield($0) })
        self.engine = engine
        // It ends with `stop`, which waits for it, or with the session.
        work = Task { [weak self] in
            await withTaskGroup { group in
                group.addTask {
                    await engine.run()
                    source.finish()
                }
                for await report in reports { await self?.take(report, from: engine) }
            }
        }
        networkWatch = Platform.onNetworkChange { [weak engine] in engine?.connectNow() }
    }

    private func take(_ report: SyncEngine.Report, from engine: SyncEngine) async {
        guard engine === self.engine else { return }
        switch report {
        case .state(let state):
            // What was touched before is shown before the state that follows from it.
            if state == .live { await refresh() }
            if self.state != state { self.state = state }
        case .touched(let touched):
            self.touched.formUnion(touched)
            await refresh()
        case .storeFailed(let error): storeError = error
        case .storeDamaged:
            // The engine has ended. What can be read of what waits is kept, and the world comes anew.
            (self.engine, work) = (nil, nil)
            guard let store else { return }
            self.store = nil
            do {
                try? store.close(erasing: false)
                try Store.replaceDamaged(store.url)
                try begin(store.userID)
            } catch {
                storeError = PostlineError(.storeUnusable, "The store \(store.url.path) cannot be used: \(error)")
            }
        case .signedOut(let error):
            self.engine = nil
            work = nil
            if let store {
                try? secrets.erase(store.userID)
                try? DeviceState().write(in: folder)
                try? store.close(erasing: false)
            }
            show(nobodyBecause: error)
        }
    }

    /// Ends what runs, and waits for its end.
    private func stop() async {
        let work = work
        (self.work, engine) = (nil, nil)
        work?.cancel()
        await work?.value
    }

    /// Connects again after ``disconnect()``.
    public func connect() throws {
        guard work == nil, let userID = store?.userID else { return }
        try store?.close(erasing: false)
        try begin(userID)
    }

    /// Disconnects, and stays so: nothing connects again but ``connect()``. What is written meanwhile is kept.
    public func disconnect() async {
        guard store != nil else { return }
        await stop()
        state = .offline(since: Date())
    }

    /// To be called when nobody sees the app any more: the connection ends, and the system may stop the process.
    public func enterBackground() async { await engine?.setInBackground(true) }

    /// To be called when the app is seen again: it connects at once.
    public func enterForeground() async { await engine?.setInBackground(false) }

    /// Tries to connect at once instead of waiting: the network is there again.
    public func networkChanged() { engine?.connectNow() }

    private func currentEngine() throws -> SyncEngine {
        guard let engine else {
            if store == nil { throw PostlineError(.signedOut, "Nobody is signed in.") }
            throw PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
        }
        return engine
    }

    private func currentStore() throws -> Store {
        guard let store else { throw PostlineError(.signedOut, "Nobody is signed in.") }
        return store
    }

    /// Gets an account for a guest whom the server does not know yet, however long that takes.
    private func connectGuest() {
        work = Task { [weak self, server, connector] in
            var backoff = Backoff()
            while !Task.isCancelled {
                do {
                    let connection = try await LineConnection.connect(to: server, by: connector)
                    defer { connection.close() }
                    let tokens: Tokens = try await connection.call("auth.guest", [String: String]())
                    guard !Task.isCancelled, let self else { return }
                    return try self.become(tokens)
                } catch {
                    try? await Task.sleep(for: backoff.next())
                }
            }
        }
    }

    /// The guest of this device has become one of the server's.
    private func become(_ tokens: Tokens) throws {
        guard account == .localGuest, let store else { return }
        try TokenKeeper.store(tokens, in: secrets)
        try DeviceState(userID: tokens.userID, movingFrom: store.userID).write(in: folder)
        try store.close(erasing: false)
        self.store = nil
        try Self.move(DeviceState.localGuest, to: tokens.userID, in: folder)
        try DeviceState(userID: tokens.userID).write(in: folder)
        work = nil
        try begin(tokens.userID)
    }

    /// Takes over what a former version of the app kept, once, and then has it deleted.
    private func takeOverLegacyData(_ store: Store) throws {
        guard let legacy else { return }
        try store.writeNow { writer in
            guard try writer.reader.setting("legacy_data") == nil else { return }
            let me = try writer.reader.me()
            let before = ProfileEdit(me)
            var edit = before
            if try legacy.takeOver(into: &edit) {
                let params = edit.params(since: before)
                if !params.isEmpty { try writer.enqueue(.save, lane: QueuedChange.ownLane, params) }
            }
            try writer.set("legacy_data", "taken over")
        }
        do {
            try legacy.erase()
        } catch {
            logger.warning("legacy data cannot be deleted yet", metadata: ["error": "\(error)"])
        }
    }

    // MARK: What is shown

    /// One state of the store, of all that is on the screen.
    private struct Snapshot: Sendable {
        var me: Me?
        var conversations: [Conversation]
        var refused: [RefusedChange]
        var waiting: Int
        var chats: [String: (messages: [Message], hasOlder: Bool)]
    }

    private nonisolated static func snapshot(_ reader: StoreReader, chats: [String: Int]) throws -> Snapshot {
        let me = try reader.me()
        let changes = try reader.changes()
        return Snapshot(
            me: me, conversations: try reader.conversations(me: me), refused: changes.compactMap(RefusedChange.init),
            waiting: changes.count { $0.refusal == nil },
            chats: try chats.reduce(into: [:]) { found, chat in
                found[chat.key] = try reader.messages(chat.key, limit: chat.value, me: me)
            })
    }

    private func snapshot(of store: Store) throws -> Snapshot {
        try store.readNow { try Self.snapshot($0, chats: openChats()) }
    }

    private func openChats() -> [String: Int] {
        chats = chats.filter { $0.value.chat != nil }
        return chats.compactMapValues { $0.chat?.limit }
    }

    /// Shows the store's newest state: everything that changes changes in one turn, so that no two views disagree.
    ///
    /// When it returns, all that was touched before is shown.
    func refresh() async {
        while isRefreshing { await withCheckedContinuation { refreshWaiters.append($0) } }
        isRefreshing = true
        defer {
            isRefreshing = false
            for waiter in refreshWaiters { waiter.resume() }
            refreshWaiters = []
        }
        while !touched.isEmpty, let store {
            touched = Store.Touched()
            do {
                let chats = openChats()
                let snapshot = try await store.read { try Self.snapshot($0, chats: chats) }
                guard store === self.store else { continue }
                show(snapshot)
                if storeError != nil { storeError = nil }
            } catch {
                storeError = PostlineError(.storeUnusable, "The store \(store.url.path) cannot be read: \(error)")
            }
        }
    }

    private func show(_ snapshot: Snapshot) {
        // What is the same is not set, so that nobody who watches it draws anew.
        if me != snapshot.me { me = snapshot.me }
        if conversations != snapshot.conversations { conversations = snapshot.conversations }
        if refusedChanges != snapshot.refused { refusedChanges = snapshot.refused }
        if waitingChanges != snapshot.waiting { waitingChanges = snapshot.waiting }
        for (id, shown) in snapshot.chats {
            chats[id]?.chat?.show(
                shown.messages, hasOlder: shown.hasOlder, in: snapshot.conversations.first { $0.id == id })
        }
    }

    private func show(nobodyBecause error: PostlineError?) {
        (store, touched) = (nil, Store.Touched())
        (account, me, conversations, refusedChanges, waitingChanges) = (.nobody, nil, [], [], 0)
        for chat in chats.values { chat.chat?.show([], hasOlder: false, in: nil) }
        chats = [:]
        state = .signedOut(error)
    }

    private func refreshMe() async throws {
        var changes = Changes()
        changes.me = try await currentEngine().call("me.get", [String: String]())
        try await currentEngine().keep(changes)
    }

    /// The messages of a conversation, for as long as somebody holds the chat.
    public func chat(with conversationID: String) -> Chat {
        if let chat = chats[conversationID]?.chat { return chat }
        let chat = Chat(conversationID: conversationID, client: self)
        chats[conversationID] = WeakChat(chat: chat)
        if let store, let shown = try? snapshot(of: store) { show(shown) }
        return chat
    }

    /// Shows more of a conversation that the store has.
    func show(_ conversationID: String) async throws {
        touched.conversations.insert(conversationID)
        await refresh()
    }

    private struct WeakChat {
        weak var chat: Chat?
    }

    // MARK: What is done here and told the server later

    /// Writes to the store, and shows it before it returns.
    func write<Value: Sendable>(_ body: @Sendable (inout StoreWriter) throws -> Value) async throws -> Value {
        let store = try currentStore()
        do {
            let (value, touched) = try await store.write(body)
            self.touched.formUnion(touched)
            engine?.ringOutbox()
            await refresh()
            return value
        } catch let error as PostlineError {
            throw error
        } catch {
            throw PostlineError(.storeUnusable, "The store \(store.url.path) cannot be written: \(error)")
        }
    }

    /// Sends a message. It is stored on the device when this returns, and shown; how far it has come is the message's
    /// ``Message/delivery``.
    ///
    /// - Returns: the message's id.
    @discardableResult
    public func send(
        _ content: String, in conversationID: String, attachment: Message.Attachment? = nil
    ) async throws -> String {
        let clientID = UUID().uuidString.lowercased()
        var params: [String: JSONValue] = [
            "conversation_id": .string(conversationID), "content": .string(content), "client_id": .string(clientID),
        ]
        if let attachment {
            params["kind"] = "image"
            params["attachment"] = try StoreJSON.decode(try StoreJSON.encode(attachment))
        }
        try await write { [params] writer in
            try writer.enqueue(.send, lane: conversationID, params, clientID: clientID)
            try writer.setDraft(nil, in: conversationID)
        }
        return clientID
    }

    /// Changes a message of the user's own.
    public func edit(_ message: Message, to content: String) async throws {
        let params: [String: JSONValue] = [
            "conversation_id": .string(message.conversationID), "seq": .integer(try seq(of: message)),
            "content": .string(content),
        ]
        try await write { _ = try $0.enqueue(.edit, lane: message.conversationID, params) }
    }

    /// Deletes a message for everybody.
    public func delete(_ message: Message) async throws {
        let params: [String: JSONValue] = [
            "conversation_id": .string(message.conversationID), "seq": .integer(try seq(of: message)),
        ]
        try await write { _ = try $0.enqueue(.delete, lane: message.conversationID, params) }
    }

    private func seq(of message: Message) throws -> Int {
        guard let seq = message.seq else {
            throw PostlineError(.notFound, "The server does not have this message yet: discard it instead.")
        }
        return seq
    }

    /// Notes that the user has read a conversation, up to its newest message.
    public func markRead(_ conversationID: String) async throws {
        guard let conversation = conversations.first(where: { $0.id == conversationID }), conversation.unreadCount > 0
        else { return }
        let params: [String: JSONValue] = [
            "conversation_id": .string(conversationID), "seq": .integer(conversation.lastSeq),
        ]
        try await write { _ = try $0.enqueue(.markRead, lane: conversationID, params) }
    }

    /// Changes the user's own data: the fields that the body changes and no others, all of them or none.
    ///
    ///     try await client.updateProfile { $0.fullName = "Alice" }
    public func updateProfile(_ body: (inout ProfileEdit) -> Void) async throws {
        let before = ProfileEdit(me)
        var edit = before
        body(&edit)
        let params = edit.params(since: before)
        guard !params.isEmpty else { return }
        try await write { _ = try $0.enqueue(.save, lane: QueuedChange.ownLane, params) }
    }

    /// Tries what was refused again.
    public func retry(_ change: Int64) async throws {
        try await write { writer in
            guard let change = try writer.reader.changes().first(where: { $0.id == change }) else { return }
            try writer.refuse(change, nil)
        }
    }

    /// Gives up what waits or was refused. It may be done nevertheless, where it is on its way.
    public func discard(_ change: Int64) async throws {
        try await write { writer in
            guard let change = try writer.reader.changes().first(where: { $0.id == change }) else { return }
            try writer.remove(change)
        }
    }

    // MARK: What the server is asked at once

    /// Calls a method of the protocol, with a connection or not at all.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: [String: JSONValue] = [:], as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await currentEngine().call(method, params)
    }

    /// The same for an answer that belongs to the store.
    func keep(_ changes: Changes) async throws {
        try await currentEngine().keep(changes)
        // The reports go the same way, and may come later.
        touched.me = true
        await refresh()
    }
}

extension Store.Touched {
    mutating func formUnion(_ other: Store.Touched) {
        me = me || other.me
        outbox = outbox || other.outbox
        profiles.formUnion(other.profiles)
        conversations.formUnion(other.conversations)
    }
}
