import Synchronization

/// Carries a noncopyable value into a closure on another thread, where it is taken out once.
final class Transfer<Content: ~Copyable & Sendable>: Sendable {
    private let content: Mutex<Content?>

    init(_ content: consuming Content) { self.content = Mutex(consume content) }

    /// The content, the first time; nil afterwards.
    func open() -> Content? { content.withLock { $0.take() } }
}
