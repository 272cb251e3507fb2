internal import Logging

/// Apple's public keys, kept for as long as Apple says. Those who need them at once wait for one fetch.
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

    /// A set that has the key.
    ///
    /// - Throws: `invalid_token` where Apple has no such key, `unavailable` where Apple's keys cannot be had.
    func keys(with kid: String) async throws(ProtocolError) -> PublicKeys {
        // A second look after a fetch that another had begun: it may have been begun for another key.
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
        // It ends by itself, within the time of a fetch, and whoever asks waits for it.
        let task = Task { await self.load() }
        fetching = task
        await task.value
    }

    private func load() async {
        defer { fetching = nil }
        do {
            let fetched = try await source.fetch()
            cache.fetched(
                try await PublicKeys(fetched.text, for: AppleSignIn.algorithms), lifetime: fetched.lifetime, at: .now)
        } catch {
            cache.failed(at: .now)
            logger.warning("Apple's keys cannot be had", metadata: ["error": "\(error)"])
        }
    }
}

extension ProtocolError {
    fileprivate static let noAppleKeys = ProtocolError(
        .unavailable, "Apple's keys cannot be had now. Try again in a moment.")
}
