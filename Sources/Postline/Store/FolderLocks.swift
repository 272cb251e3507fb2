import Foundation

/// The locks of a folder that several processes use.
struct FolderLocks: Sendable {
    /// The folder, or nil without locks because only one process uses it.
    private let folder: URL?

    init(sharedFolder folder: URL? = nil) { self.folder = folder }

    var isShared: Bool { folder != nil }

    /// Returns the lock of the process with the connection to the server, which syncs and sends the outbox. Nil if only
    /// one process uses the folder.
    func makeConnectionLock() -> FileLock? {
        folder.map { FileLock($0.appendingPathComponent("connection.lock")) }
    }

    /// Opens, creates, replaces or erases stores, or changes the signed-in user, while no other process does. It blocks
    /// the thread for the milliseconds that another process takes.
    ///
    /// - Throws: ``PostlineError``, `store_unusable` if another process takes longer than 10 s, and the body's errors.
    func lockingFolder<Value>(_ body: () throws -> Value) throws -> Value {
        guard let folder else { return try body() }
        let lock = try lock("folder.lock", in: folder)
        let end = ContinuousClock.now + .seconds(10)
        while !lock.tryLock() {
            guard .now < end else { throw isBusy(folder) }
            Thread.sleep(forTimeInterval: 0.002)
        }
        defer { lock.unlock() }
        return try body()
    }

    /// Renews or replaces the tokens while no other process does. This includes requests to the server, because a
    /// refresh token is valid once.
    ///
    /// - Throws: ``PostlineError``, `store_unusable` if another process takes longer than 60 s, and the body's errors.
    func lockingSession<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard let folder else { return try await body() }
        let lock = try lock("session.lock", in: folder)
        let end = ContinuousClock.now + .seconds(60)
        while !lock.tryLock() {
            guard .now < end else { throw isBusy(folder) }
            try await Task.sleep(for: .milliseconds(20))
        }
        defer { lock.unlock() }
        return try await body()
    }

    private func lock(_ name: String, in folder: URL) throws -> FileLock {
        try FileManager.default.makePrivateFolder(folder)
        return FileLock(folder.appendingPathComponent(name))
    }

    private func isBusy(_ folder: URL) -> PostlineError {
        PostlineError(
            .storeUnusable, "Another process of the app keeps the folder \(folder.path) locked.", isRetryable: true)
    }
}
