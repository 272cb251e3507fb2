import Logging
import WireProtocol

/// Apple's public keys, cached for the lifetime that Apple states. Concurrent callers share one fetch.
actor AppleKeys {
    private let source: any KeySetSource
    private let logger: Logger
    private var cache: KeySetCache<PublicKeys>
    private var fetching: Task<Void, Never>?

    init(_ source: any KeySetSource, times: KeySetCache<PublicKeys>.Times = .init(), logger: Logger) {
        self.source = source
        self.logger = logger
        cache = KeySetCache(times)
    }

    /// Returns a key set that contains the key.
    ///
    /// - Throws: `invalid_token` if Apple has no such key; `unavailable` if Apple's keys cannot be fetched.
    func keys(with kid: String) async throws(ProtocolError) -> PublicKeys {
        // Checks the cache again after a fetch, which another caller may have begun for another key.
        for _ in 0..<3 {
            switch cache.step(at: .now, hasKey: { $0.names.contains(kid) }) {
            case .use(let keys): return keys
            case .unknownKey: throw .invalidIdentityToken
            case .unavailable: throw .noAppleKeys
            case .fetch: await fetch()
            }
        }
        throw cache.hasFailed ? .noAppleKeys : .invalidIdentityToken
    }

    private func fetch() async {
        if let fetching { return await fetching.value }
        // An unstructured task, since several callers wait for it. It ends within the fetch's timeout.
        let task = Task { await self.load() }
        fetching = task
        await task.value
    }

    private func load() async {
        defer { fetching = nil }
        do {
            let fetched = try await source.fetch()
            cache.recordFetch(
                try await PublicKeys(fetched.text, for: AppleSignIn.algorithms), lifetime: fetched.lifetime, at: .now)
        } catch {
            cache.recordFailure(at: .now)
            logger.warning("cannot fetch Apple's keys", metadata: ["error": "\(error)"])
        }
    }
}

extension ProtocolError {
    fileprivate static let noAppleKeys = ProtocolError(
        .unavailable, "Apple's keys cannot be fetched now. Try again in a moment.")
}
