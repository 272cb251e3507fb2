import Concurrency
public import Foundation
import NIOConcurrencyHelpers

/// A loader of the pictures of messages and avatars, with a cache in memory and one in the store's folder.
///
/// Callers that want the same picture share one download, which ends with the cancellation of the last caller. A cached
/// picture needs no connection. The caches are deleted at the sign-out; the next user has another loader.
public final class PictureLoader: Sendable {
    /// The pictures on disk, or nil if no user is signed in.
    let cache: PictureCache?
    private let limits: FileLimits
    private let urls: PictureURLBatcher
    private let downloads: SlotLimiter
    private let state: NIOLockedValueBox<State>

    private struct State {
        var index: LRUIndex<Request>
        var memory: [Request: Data] = [:]
        var loads: [Request: Load] = [:]
        var lastID = 0
        var isRetired: Bool

        mutating func nextID() -> Int {
            lastID += 1
            return lastID
        }
    }

    /// A picture in one size.
    private struct Request: Hashable {
        var source: Source
        var pixels: Int?
    }

    private enum Source: Hashable {
        /// A picture that waits in the outbox.
        case file(URL)
        /// A picture of the server, which needs a URL.
        case media(Message.Attachment)
        /// An avatar or a picture elsewhere. Its URL always shows the same picture.
        case url(URL)
    }

    private struct Load {
        let id: Int
        var task: Task<Void, Never>?
        var waiters: [Int: Waiter] = [:]
    }

    private struct Waiter {
        var continuation: CheckedContinuation<Result<Data, PostlineError>, Never>
        var keepsInMemory: Bool
        var progress: @Sendable (TransferProgress) -> Void
    }

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - folder: The folder of the cache, or nil if no user is signed in.
    ///   - urls: Returns new URLs of messages' pictures.
    init(folder: URL?, limits: FileLimits, urls: @escaping PictureURLBatcher.Fetch) {
        cache = folder.map { PictureCache(folder: $0, maxBytes: limits.diskBytes) }
        self.limits = limits
        self.urls = PictureURLBatcher(urls)
        downloads = SlotLimiter(max(1, limits.concurrentDownloads))
        state = NIOLockedValueBox(State(index: LRUIndex(maxBytes: limits.memoryBytes), isRetired: folder == nil))
    }

    /// Returns the picture of a message: from a cache, from the outbox if it is not sent yet, or else from the server.
    ///
    /// - Parameters:
    ///   - attachment: A picture of the message's ``Message/attachments``, or the ``Message/Attachment/preview`` of one.
    ///   - maxPixels: The longer side of the view in pixels. On Apple's systems a larger picture is scaled down to it,
    ///     except for an animation. Elsewhere it is returned as it is.
    ///   - progress: A function that is called for each received part of a download, on any thread.
    /// - Returns: The file: JPEG, PNG, WebP, GIF or HEIC.
    /// - Throws: ``PostlineError``: `offline` if it is in no cache and there is no connection; `not_found` if it is
    ///   deleted or the user may not see it; `invalid_params` if it is larger than ``FileLimits/pictureBytes``;
    ///   `unavailable`, `signed_out`, `cancelled`.
    public func picture(
        of attachment: Message.Attachment, maxPixels: Int? = nil,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(PostlineError) -> Data {
        let source: Source =
            if let file = attachment.fileURL {
                .file(file)
            } else if attachment.mediaID != nil {
                .media(attachment)
            } else {
                .url(try Self.url(attachment.url))
            }
        return try await data(Request(source: source, pixels: maxPixels), progress: progress)
    }

    /// Returns the picture of an avatar, or nil if the avatar is not ``Avatar/custom(url:)``.
    ///
    /// - Parameters:
    ///   - avatar: The user's ``User/avatar``.
    ///   - maxPixels: The longer side of the view in pixels. See ``picture(of:maxPixels:progress:)``.
    /// - Throws: The errors of ``picture(of:maxPixels:progress:)``.
    public func picture(of avatar: Avatar, maxPixels: Int? = nil) async throws(PostlineError) -> Data? {
        guard case .custom(let url) = avatar else { return nil }
        return try await data(Request(source: .url(try Self.url(url)), pixels: maxPixels))
    }

    /// Removes all pictures from memory, such as at a memory warning. They stay on disk.
    public func removeAllFromMemory() {
        state.withLockedValue { state in
            state.memory = [:]
            state.index = LRUIndex(maxBytes: limits.memoryBytes)
        }
    }

    /// Ends all downloads. Their callers get `signed_out`, and later ones too.
    func cancel() {
        let loads = state.withLockedValue { state in
            defer { state.loads = [:] }
            state.isRetired = true
            return Array(state.loads.values)
        }
        removeAllFromMemory()
        for load in loads {
            load.task?.cancel()
            for waiter in load.waiters.values { waiter.continuation.resume(returning: .failure(Self.signedOut)) }
        }
    }

    /// Ends all downloads and deletes the caches.
    func retire() async {
        cancel()
        await cache?.retire()
    }

    /// Returns the key of a message's picture in the cache.
    static func cacheKey(mediaID: String) -> String { "media:\(mediaID)" }

    private static let signedOut = PostlineError(.signedOut, "No user is signed in.")

    private static func url(_ text: String) throws(PostlineError) -> URL {
        guard let url = URL(string: text) else {
            throw PostlineError(.invalidParams, "The picture's URL is not valid: \(text)", field: "url")
        }
        return url
    }

    /// Returns a picture from memory, or from the load that all callers share.
    private func data(
        _ request: Request, keepsInMemory: Bool = true,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(PostlineError) -> Data {
        let id = state.withLockedValue { $0.nextID() }
        return try await withTaskCancellationHandler {
            await withSuspension { continuation in
                state.withLockedValue { state -> Suspension<Result<Data, PostlineError>> in
                    if state.isRetired { return .resume(.failure(Self.signedOut)) }
                    if let data = state.memory[request] {
                        state.index.touch(request)
                        return .resume(.success(data))
                    }
                    if Task.isCancelled { return .resume(.failure(PostlineError(converting: CancellationError()))) }
                    var load = state.loads[request] ?? Load(id: state.nextID())
                    load.waiters[id] = Waiter(
                        continuation: continuation, keepsInMemory: keepsInMemory, progress: progress)
                    if load.task == nil {
                        // The task ends with its download, and is cancelled with the last waiter.
                        load.task = Task { @concurrent [id = load.id] in await run(request, id) }
                    }
                    state.loads[request] = load
                    return .suspend
                }
            }
        } onCancel: {
            leave(id, request)
        }.get()
    }

    /// Removes a waiter that was cancelled. The last one cancels the load.
    private func leave(_ id: Int, _ request: Request) {
        let (waiter, task) = state.withLockedValue { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.loads[request]?.waiters.removeValue(forKey: id) else { return (nil, nil) }
            guard state.loads[request]?.waiters.isEmpty == true else { return (waiter, nil) }
            return (waiter, state.loads.removeValue(forKey: request)?.task)
        }
        task?.cancel()
        waiter?.continuation.resume(returning: .failure(PostlineError(converting: CancellationError())))
    }

    @concurrent
    private func run(_ request: Request, _ id: Int) async {
        let result: Result<Data, PostlineError>
        do {
            result = .success(try await load(request))
        } catch {
            result = .failure(PostlineError(converting: error))
        }
        let waiters = state.withLockedValue { state -> [Waiter] in
            // A load whose waiters have all left may have a successor.
            guard let load = state.loads[request], load.id == id else { return [] }
            state.loads[request] = nil
            if case .success(let data) = result, load.waiters.values.contains(where: \.keepsInMemory) {
                state.memory[request] = data
                for key in state.index.insert(request, bytes: data.count) { state.memory[key] = nil }
            }
            return Array(load.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: result) }
    }

    private func load(_ request: Request) async throws -> Data {
        let progress: @Sendable (TransferProgress) -> Void = { [state] progress in
            let waiters = state.withLockedValue { $0.loads[request].map { Array($0.waiters.values) } ?? [] }
            for waiter in waiters { waiter.progress(progress) }
        }
        if let pixels = request.pixels {
            // All sizes share the load of the whole picture.
            let whole = Request(source: request.source, pixels: nil)
            return await Platform.scaled(
                try await data(whole, keepsInMemory: false, progress: progress), toPixels: pixels)
        }
        switch request.source {
        case .file(let url):
            guard let data = try? Data(contentsOf: url) else {
                throw PostlineError(.notFound, "The picture is not in the outbox any more: \(url.path)")
            }
            return data
        case .media(let attachment):
            return try await cached(Self.cacheKey(mediaID: attachment.mediaID ?? "")) {
                try await download(progress) { try await urls.url(for: attachment) }
            }
        case .url(let url):
            return try await cached("url:\(url.absoluteString)") { try await download(progress) { url } }
        }
    }

    private func cached(_ key: String, _ download: () async throws -> Data) async throws -> Data {
        if let data = await cache?.data(for: key) { return data }
        let data = try await download()
        await cache?.insert(data, for: key)
        return data
    }

    /// Downloads a picture. If its URL has expired, it asks for a new one, once.
    private func download(
        _ progress: @escaping @Sendable (TransferProgress) -> Void, from url: () async throws -> URL?
    ) async throws -> Data {
        var former: URL?
        while true {
            guard let url = try await url(), url != former else { break }
            let response = try await downloads.withSlot {
                try await HTTPTransfer.get(
                    url, into: .memory(maxBytes: limits.pictureBytes), progress: progress)
            }
            switch response.status {
            case 200..<300 where !response.body.isEmpty: return response.body
            case 403, 404:
                if former != nil { throw Self.missing }
                former = url
            case 410: throw Self.missing
            default:
                throw PostlineError(
                    .unavailable, "The picture's server responded with status \(response.status).", isRetryable: true)
            }
        }
        throw Self.missing
    }

    static let missing = PostlineError(.notFound, "The file is deleted, or the user may not see it.")
}
