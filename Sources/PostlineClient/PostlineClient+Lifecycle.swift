import Foundation
import Logging

/// What runs: one engine for whoever is signed in.
extension PostlineClient {
    /// Shows a user's store, and connects.
    func activate(_ userID: String) throws {
        let (store, snapshot) = try open(userID)
        self.store = store
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

    /// Opens a user's store, and reads what is shown first. A file that turns out to be torn is replaced.
    func open(_ userID: String) throws -> (Store, Snapshot) {
        let store = try Store(folder: folder, userID: userID)
        do {
            if userID == DeviceState.localGuest {
                try store.writeNow { if try $0.reader.serverMe() == nil { try $0.apply(Me.localGuest) } }
            }
            try migrateLegacyData(store)
            return (store, try snapshot(of: store))
        } catch  where Store.isDamaged(error) {
            try? store.close(erasing: false)
            try Store.replaceDamaged(folder, userID)
            let new = try Store(folder: folder, userID: userID)
            return (new, try snapshot(of: new))
        }
    }

    func start(_ store: Store, _ tokens: Tokens) {
        let (reports, report) = AsyncStream<SyncEngine.Report>.makeStream()
        // However much has been written, it is read once.
        let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let engine = SyncEngine(
            server: server, connector: connector, store: store, keeper: TokenKeeper(tokens: tokens, secrets: secrets),
            registration: registration,
            connectSignal: connectSignal, isInBackground: isInBackground, logger: logger, report: { report.yield($0) },
            storeDidChange: { change.yield() })
        self.engine = engine
        // It ends with `stop`, which waits for it, or with the session.
        work = Task { [weak self, typingSignal] in
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
            // What was written before is shown before the state that follows from it.
            if state == .live { await reload() }
            let wasLive = self.state == .live
            if self.state != state { self.state = state }
            if wasLive, !typingUserIDs.isEmpty { typingUserIDs = [:] }
            // Who is online is known while it is live.
            if wasLive != (state == .live) { await reload() }
            if state == .live { connectionError = nil }
        case .connectionFailed(let error): connectionError = error
        case .typing(let notice): handleTyping(notice)
        case .storeFailed(let error): storeError = error
        case .storeDamaged:
            // The engine has ended. What can be read of what waits is kept, and the world comes anew.
            (self.engine, work) = (nil, nil)
            guard let store else { return }
            self.store = nil
            try? store.close(erasing: false)
            do {
                try Store.replaceDamaged(folder, store.userID)
                try restart()
            } catch {
                logger.error("the damaged store cannot be replaced", metadata: ["error": "\(error)"])
            }
        case .signedOut(let error):
            await engine.keeper.retire()
            guard engine === self.engine else { return }
            if let store {
                // An account whose deletion was asked for, and not answered, is deleted.
                let isDeleted = (try? store.readNow { try $0.isDeletionPending }) == true
                do {
                    try secrets.erase(named: store.userID)
                    try DeviceState.set(nil, in: folder)
                    try store.close(erasing: isDeleted)
                } catch {
                    logger.error("the device cannot forget", metadata: ["error": "\(error)"])
                }
            }
            show(signedOutBecause: error)
        }
    }

    /// Ends what runs, and waits for its end.
    func stop() async {
        engine = nil
        guard let work else { return }
        work.cancel()
        await work.value
        // Until here it is still at work, and nobody begins anew.
        guard work == self.work else { return }
        self.work = nil
        if store != nil { state = .offline(since: Date()) }
    }

    /// Connects again after ``disconnect()``, and tries again to use a store that could not be used. It does nothing where
    /// it is connected, or tries to be.
    ///
    /// - Throws: ``PostlineError``: `store_unusable`.
    public func connect() throws {
        if isChangingUser { return }
        isDisconnecting = false
        guard work == nil else { return }
        try restart()
    }

    /// Disconnects, and stays so: nothing connects again but ``connect()``. What is written meanwhile is kept.
    public func disconnect() async {
        if isChangingUser { return }
        isDisconnecting = true
        await stop()
        // The last word counts.
        if !isDisconnecting, work == nil, !isChangingUser { try? restart() }
    }

    /// To be called when nobody sees the app any more: the connection ends, and the system may stop the process. What
    /// needs the server at once is `offline` meanwhile.
    public func enterBackground() async { await setInBackground(true) }

    /// To be called when the app is seen again: it connects at once.
    public func enterForeground() async { await setInBackground(false) }

    var isChangingUser: Bool {
        if case .signingIn = account { true } else { isSigningOut }
    }

    private func setInBackground(_ isInBackground: Bool) async {
        self.isInBackground = isInBackground
        connectSignal.signal()
        await engine?.setInBackground(isInBackground)
    }

    /// Tries to connect at once instead of waiting, and looks whether the connection that there is still goes: the network
    /// is another.
    public func networkChanged() { connectSignal.signal() }

    func currentEngine() throws -> SyncEngine {
        guard let engine else {
            if store == nil { throw PostlineError(.signedOut, "Nobody is signed in.") }
            throw PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
        }
        return engine
    }

    func currentStore() throws -> Store {
        guard let store else { throw PostlineError(.signedOut, "Nobody is signed in.") }
        return store
    }

    /// Gets an account for a guest whom the server does not know yet, however long that takes.
    func registerLocalGuest() {
        // It ends with `stop`, which waits for it, or with the guest's account.
        work = Task { [weak self, server, connector, connectSignal] in
            var backoff = Backoff()
            var tokens: Tokens?
            while !Task.isCancelled {
                if self?.isInBackground == true {
                    await connectSignal.wait()
                    continue
                }
                do {
                    let granted = if let tokens { tokens } else { try await Self.createGuest(server, connector) }
                    tokens = granted
                    guard !Task.isCancelled, let self else { return }
                    return try self.adoptGuest(granted)
                } catch {
                    self?.connectionError = error as? PostlineError
                    await connectSignal.wait(atMost: backoff.next())
                }
            }
        }
    }

    /// Has the server make a guest.
    private nonisolated static func createGuest(_ server: Server, _ connector: any Connector) async throws -> Tokens {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        return try await connection.call("auth.guest", [String: String]())
    }

    /// Takes over what a former version of the app kept, once, and then has it deleted. What cannot be read or deleted
    /// now is tried again at the next launch.
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
                    // What an account has of its own stays. A guest of this device has nothing yet.
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
            logger.warning("what a former version kept is left for the next launch", metadata: ["error": "\(error)"])
        }
    }
}
