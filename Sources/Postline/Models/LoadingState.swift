/// The state of something that a view loads.
public enum LoadingState: Sendable, Hashable {
    /// Nothing is being loaded.
    case idle
    /// The data is being loaded.
    case loading
    /// The last attempt failed with this error.
    case failed(PostlineError)

    init(_ error: PostlineError) { self = error.code == .cancelled ? .idle : .failed(error) }
}
