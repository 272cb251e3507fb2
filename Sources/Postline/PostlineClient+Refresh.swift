/// Loading the conversation list.
extension PostlineClient {
    /// The state of the first load of ``conversations``: it is loading until they have come from the server once, or
    /// failed while the client cannot connect. It is also failed while the store cannot be used.
    ///
    /// The client tries again by itself. ``refresh()`` tries at once.
    public var listState: LoadingState {
        if let storeError { return .failed(storeError) }
        guard !isListLoaded, case .offline = state else { return isListLoaded ? .idle : .loading }
        return .failed(connectionError ?? Self.noConnection)
    }

    /// Fetches all changes from the server, for pull-to-refresh. When it returns, they are stored and shown. While
    /// ``state`` is live, changes arrive without it. ``refreshState`` shows its progress.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_trusted`, `signed_out`.
    public func refresh() async throws(PostlineError) {
        refreshCount += 1
        let refresh = refreshCount
        refreshState = .loading
        do {
            try await fetchChanges()
            if refresh == refreshCount { refreshState = .idle }
        } catch {
            if refresh == refreshCount { refreshState = LoadingState(error) }
            throw error
        }
    }

    private func fetchChanges() async throws(PostlineError) {
        connectSignal.signal()
        let engine = try currentEngine()
        guard await engine.refresh() else {
            let store = try currentStore()
            guard store === engine.store, let connectionError else { throw Self.noConnection }
            throw connectionError
        }
        await reload()
    }

    static var noConnection: PostlineError {
        PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
    }
}
