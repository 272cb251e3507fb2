/// The state of something that a view loads.
public enum LoadingState: Sendable, Hashable {
    /// Nothing is being loaded.
    case idle
    /// The data is being loaded.
    case loading
    /// The last attempt failed with this error.
    case failed(PostlineError)

    init(_ error: any Error) {
        switch error {
        case is CancellationError: self = .idle
        case let error as PostlineError: self = .failed(error)
        default: self = .failed(PostlineError(.storeUnusable, "The store cannot be used: \(error)"))
        }
    }
}
