import Concurrency
import Foundation
import NIOConcurrencyHelpers

/// Requests for the URLs of messages' pictures, joined into batches: those that come during a call are the next one.
final class PictureURLBatcher: Sendable {
    typealias Fetch = @Sendable ([Message.Attachment]) async throws -> [Message.Attachment: URL]

    private struct State {
        var waiters: [(attachment: Message.Attachment, continuation: Waiter)] = []
        var isFetching = false
    }

    private typealias Waiter = CheckedContinuation<Result<URL?, any Error>, Never>

    private let state = NIOLockedValueBox(State())
    private let fetch: Fetch

    init(_ fetch: @escaping Fetch) { self.fetch = fetch }

    /// Returns a new URL of the picture, or nil if the user may not see it or it is deleted.
    func url(for attachment: Message.Attachment) async throws -> URL? {
        try await withSuspension { waiter in
            let isFirst = state.withLockedValue { state in
                state.waiters.append((attachment, waiter))
                defer { state.isFetching = true }
                return !state.isFetching
            }
            // The task ends when nobody waits any more.
            if isFirst { Task { @concurrent in await fetchAll() } }
            return .suspend
        }.get()
    }

    @concurrent
    private func fetchAll() async {
        // Views that appear together are in one batch.
        await Task.yield()
        while let waiters = takeWaiters() {
            do {
                let urls = try await fetch(waiters.map(\.attachment))
                for waiter in waiters { waiter.continuation.resume(returning: .success(urls[waiter.attachment])) }
            } catch {
                for waiter in waiters { waiter.continuation.resume(returning: .failure(error)) }
            }
        }
    }

    private func takeWaiters() -> [(attachment: Message.Attachment, continuation: Waiter)]? {
        state.withLockedValue { state in
            defer { state.waiters = [] }
            state.isFetching = !state.waiters.isEmpty
            return state.isFetching ? state.waiters : nil
        }
    }
}
