import Foundation
import Logging

/// What runs: one engine for whoever is signed in.
extension PostlineClient {
    /// Shows a user's store, and connects.
    func begin(_ userID: String) throws {
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
    func open(_ userID: String) throws -> (Store, Snapshot) {
        let store = try Store(folder: folder, userID: userID)
        do {
            if userID == DeviceState.localGuest {
                try store.writeNow { if try $0.reader.serversMe() == nil { try $0.apply(Me.localGuest) } }
            }
            try takeOverLegacyData(store)
            return (store, try snapshot(of: store))
        } catch  where Store.isDamaged(error) {
            try? store.close(erasing: false)
            try Store.replaceDamaged(store.url)
            let new = try Store(folder: folder, userID: userID)
            return (new, try snapshot(of: new))
        }
    }

    func start(_ store: Store, _ tokens: Tokens) {
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

    func take(_ report: SyncEngine.Report, from engine: SyncEngine) async {
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
    func stop() async {
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
    func connectGuest() {
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
    func become(_ tokens: Tokens) throws {
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
    func takeOverLegacyData(_ store: Store) throws {
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
}
