import Foundation
import Foundations
import Logging

/// Starting and stopping the sync engine of the signed-in user.
extension PostlineClient {
    /// Shows a user's store and connects.
    func activate(_ userID: User.ID) throws {
        let (store, snapshot) = try open(userID)
        self.store = store
        (sharedState.dataVersion, sharedState.lastArrivalID) = (0, try store.readNow { try $0.lastArrivalID() })
        removeOrphanedFiles(in: store)
        show(snapshot)
        if userID == DeviceState.localGuest {
            account = .localGuest
            state = .offline(since: Date())
            registerLocalGuest()
        } else if let tokens = try TokenKeeper.load(userID, from: secrets) {
            account = tokens.isGuest ? .guest(id: userID) : .user(id: userID)
            state = .connecting
            start(store, tokens)
        } else {
            try DeviceState.set(nil, in: folder)
            try store.close(erasing: false)
            show(signedOutBecause: nil)
        }
    }

    /// Opens a user's store and reads its first snapshot. Replaces a damaged file.
    func open(_ userID: User.ID) throws -> (Store, StoreSnapshot) {
        let store = try Store(folder: folder, userID: userID, isShared: locks.isShared)
        do {
            if userID == DeviceState.localGuest {
                try store.writeNow { if try $0.reader.serverMe() == nil { try $0.apply(Me.newGuest(userID)) } }
            }
            try migrateLegacyData(store)
            return (store, try snapshot(of: store))
        } catch  where Store.isDamaged(error) {
            try? store.close(erasing: false)
            try Store.replaceDamaged(folder, userID)
            let new = try Store(folder: folder, userID: userID, isShared: locks.isShared)
            return (new, try snapshot(of: new))
        }
    }

    func start(_ store: Store, _ tokens: Tokens) {
        let (reports, report) = AsyncStream<SyncEngine.Report>.makeStream()
        // Any number of writes lead to one read.
        let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let engine = SyncEngine(
            server: server, connector: connector, store: store,
            keeper: TokenKeeper(tokens: tokens, secrets: secrets, locks: locks),
            registration: registration, pictures: pictures.cache, connectionLock: locks.makeConnectionLock(),
            connectSignal: connectSignal, isInBackground: isInBackground, logger: logger, report: { report.yield($0) },
            storeDidChange: { change.yield() })
        self.engine = engine
        uploadProgress = [:]
        // The task ends with the session, or in `stop`, which awaits it.
        engineTask = Task { [weak self, typingSignal] in
            await withTaskGroup { group in
                group.addTask {
                    await engine.run()
                    report.finish()
                    change.finish()
                }
                group.addTask { for await _ in changes { await self?.reload() } }
                group.addTask {
                    while !Task.isCancelled {
                        guard let next = await self?.expireTyping() else { return }
                        await typingSignal.wait(atMost: next)
                    }
                }
                for await report in reports { await self?.handle(report, from: engine) }
                group.cancelAll()
            }
        }
    }

    func handle(_ report: SyncEngine.Report, from engine: SyncEngine) async {
        guard engine === self.engine else { return }
        switch report {
        case .state(let state):
            // Earlier writes are shown before the state that follows them.
            if state == .live { await reload() }
            if state == .live, case .failed = refreshState { refreshState = .idle }
            await enter(state)
            if state == .live {
                connectionError = nil
                endKeptSessions()
            }
        case .connectionFailed(let error): connectionError = error
        case .typing(let notice): handleTyping(notice)
        case .uploading(let id, let progress): uploadProgress[id] = progress
        case .received(let received):
            await emitShown {
                for (id, count) in received.skipped {
                    for subscription in eventBuffers { subscription.buffer?.skip(count, of: id) }
                }
                return received.messages.map { .messageReceived($0) }
            }
        case .refused(let change):
            await emitShown { refusedChanges.filter { $0.id == change }.map { .changeRefused($0) } }
        case .storeFailed(let error): storeError = error
        case .storeDamaged:
            // The engine has ended. Its readable unsent changes are kept, and the rest is fetched again.
            (self.engine, engineTask) = (nil, nil)
            guard let store else { return }
            self.store = nil
            try? store.close(erasing: false)
            do {
                try locks.lockingFolder {
                    // Another process may have replaced the file.
                    if !store.isReplaced { try Store.replaceDamaged(folder, store.userID) }
                }
                try restart()
            } catch {
                logger.error("the damaged store cannot be replaced", metadata: ["error": "\(error)"])
            }
        case .signedOut(let error):
            await engine.keeper.retire()
            let tokens = await engine.keeper.tokens
            await retirePictures()
            guard engine === self.engine else { return }
            if let store {
                do {
                    guard try await endSession(of: store, rejected: tokens) else { return await switchUser() }
                } catch {
                    logger.error("the session's data cannot be erased", metadata: ["error": "\(error)"])
                }
            }
            show(signedOutBecause: error)
        }
    }

    /// Stops the engine and awaits its end.
    func stop() async {
        engine = nil
        uploadProgress = [:]
        guard let engineTask else { return }
        engineTask.cancel()
        await engineTask.value
        // The task was running until here, and no other could have started.
        guard engineTask == self.engineTask else { return }
        self.engineTask = nil
        if store != nil { await enter(.offline(since: Date())) }
    }

    /// Shows a state. Presence and typing are known only while it is live.
    private func enter(_ state: ConnectionState) async {
        let wasLive = self.state == .live
        if self.state != state { self.state = state }
        if wasLive, !typingUserIDs.isEmpty { typingUserIDs = [:] }
        if wasLive != (state == .live) { await reload() }
    }

    /// Connects after ``disconnect()``, and tries again to open a store that could not be used. Does nothing if the
    /// client is connected or connecting.
    ///
    /// - Throws: ``PostlineError``: `store_unusable`.
    public func connect() throws(PostlineError) {
        if isChangingUser { return }
        isDisconnecting = false
        endKeptSessions()
        guard engineTask == nil else { return }
        try convertingErrors { try restart() }
    }

    /// Disconnects until ``connect()`` is called. The outbox keeps changes that are made meanwhile.
    public func disconnect() async {
        if isChangingUser { return }
        isDisconnecting = true
        await stop()
        // A call of `connect` during the wait takes precedence.
        if !isDisconnecting, engineTask == nil, !isChangingUser { try? restart() }
    }

    /// Closes the connection. Call it when the app goes to the background, where the system may stop the process. Calls
    /// that need the server then throw `offline`. With a shared store, another process may connect when this returns.
    public func enterBackground() async { await setInBackground(true) }

    /// Connects at once. Call it when the app comes to the foreground.
    public func enterForeground() async { await setInBackground(false) }

    var isChangingUser: Bool {
        if case .signingIn = account { true } else { isSigningOut }
    }

    private func setInBackground(_ isInBackground: Bool) async {
        self.isInBackground = isInBackground
        connectSignal.signal()
        await engine?.setInBackground(isInBackground)
        if isInBackground { return }
        endKeptSessions()
        await showChangesOfProcesses()
    }

    /// Connects without waiting for the back-off, or checks the current connection. Call it when the network changes.
    public func networkChanged() {
        connectSignal.signal()
        logoutSignal.signal()
    }

    func currentEngine() throws(PostlineError) -> SyncEngine {
        guard let engine else {
            if store == nil { throw PostlineError(.signedOut, "No user is signed in.") }
            throw Self.noConnection
        }
        return engine
    }

    func currentStore() throws(PostlineError) -> Store {
        guard let store else { throw PostlineError(.signedOut, "No user is signed in.") }
        return store
    }

    /// Registers the local guest at the server, and retries until it succeeds.
    func registerLocalGuest() {
        let lock = locks.makeConnectionLock()
        // The task ends with the guest's registration, or in `stop`, which awaits it.
        engineTask = Task { [weak self, server, connector, connectSignal] in
            var backoff = Backoff.reconnect
            var tokens: Tokens?
            defer { lock?.unlock() }
            while !Task.isCancelled {
                if self?.isInBackground == true {
                    lock?.unlock()
                    await connectSignal.wait()
                    continue
                }
                // Another process registers the guest.
                guard lock?.tryLock() ?? true else {
                    await connectSignal.wait(atMost: SyncEngine.sharedPollInterval)
                    continue
                }
                do {
                    let granted = if let tokens { tokens } else { try await Self.createGuest(server, connector) }
                    tokens = granted
                    guard !Task.isCancelled, let self else { return }
                    return try await self.adoptGuest(granted)
                } catch {
                    self?.connectionError = error as? PostlineError
                    await connectSignal.wait(atMost: backoff.next())
                }
            }
        }
    }

    /// Creates a guest at the server.
    private nonisolated static func createGuest(_ server: Server, _ connector: any Connector) async throws -> Tokens {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        return try await connection.call("auth.guest", [String: String]())
    }

    /// Migrates the data of an older version of the app once, and then has it erased. A failure is retried at the next
    /// launch.
    func migrateLegacyData(_ store: Store) throws {
        guard let legacy else { return }
        var device = try DeviceState.read(in: folder)
        guard device.legacyData != .erased else { return }
        do {
            if device.legacyData == nil {
                let before = ProfileEdit(try store.readNow { try $0.me() })
                var edit = before
                let params = try legacy.migrate(into: &edit) ? edit.params(since: before) : [:]
                try store.writeNow { writer in
                    // An account's own values win. A local guest has none yet.
                    let method: QueuedChange.Method = store.userID == DeviceState.localGuest ? .save : .fill
                    if !params.isEmpty { try writer.enqueue(method, queueKey: QueuedChange.profileQueueKey, params) }
                }
                device.legacyData = .migrated
                try device.write(in: folder)
            }
            try legacy.erase()
            device.legacyData = .erased
            try device.write(in: folder)
        } catch {
            logger.warning("an older version's data is not migrated", metadata: ["error": "\(error)"])
        }
    }
}
