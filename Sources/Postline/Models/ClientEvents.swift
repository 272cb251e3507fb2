import Concurrency
import NIOConcurrencyHelpers

/// The events of a client or a chat from the moment of the subscription, for one task to read.
///
///     for await event in client.events { … }
///
/// Each `events` is a subscription of its own. It keeps at most ``capacity`` events for its reader. Beyond that it
/// drops the oldest and says so: the next event is ``ClientEvent/missed(count:)``. The models always show the current
/// values, so a reader that missed events reads these. The sequence ends with the client, or with the reader's task.
public struct ClientEvents: AsyncSequence, Sendable {
    /// The type of the events.
    public typealias Element = ClientEvent
    /// The type of errors, of which there are none.
    public typealias Failure = Never

    /// The largest number of events that wait for a reader.
    public static let capacity = 256

    let buffer: EventBuffer

    /// Returns the subscription's iterator. All iterators share the events.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// The iterator of a subscription.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: EventBuffer

        /// Waits for the next event. Returns nil if the client has ended or the task is cancelled.
        public mutating func next() async -> ClientEvent? { await buffer.next() }

        /// Waits for the next event. Returns nil if the client has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ClientEvent? { await buffer.next() }
    }
}

/// The events that wait for one subscription's reader.
final class EventBuffer: Sendable {
    private struct State {
        var events: [ClientEvent] = []
        /// The number of events that were left out before the first one.
        var missed = 0
        var isFinished = false
    }

    /// The conversation whose events are kept, or nil for all events.
    private let conversationID: Conversation.ID?
    private let state = NIOLockedValueBox(State())
    private let signal = AsyncSignal()

    init(conversationID: Conversation.ID?) { self.conversationID = conversationID }

    func append(_ event: ClientEvent) {
        guard conversationID == nil || event.conversationID == conversationID else { return }
        state.withLockedValue { state in
            if state.events.count == ClientEvents.capacity {
                state.events.removeFirst()
                state.missed += 1
            }
            state.events.append(event)
        }
        signal.signal()
    }

    /// Counts events of a conversation that are left out, before those that wait.
    func skip(_ count: Int, of id: Conversation.ID) {
        guard conversationID == nil || id == conversationID else { return }
        state.withLockedValue { $0.missed += count }
        signal.signal()
    }

    /// Ends the subscription once its events are read.
    func finish() {
        state.withLockedValue { $0.isFinished = true }
        signal.signal()
    }

    func next() async -> ClientEvent? {
        while !Task.isCancelled {
            let (event, isFinished) = state.withLockedValue { state -> (ClientEvent?, Bool) in
                if state.missed > 0 {
                    defer { state.missed = 0 }
                    return (.missed(count: state.missed), false)
                }
                return (state.events.isEmpty ? nil : state.events.removeFirst(), state.isFinished)
            }
            if let event { return event }
            if isFinished { return nil }
            await signal.wait()
        }
        return nil
    }
}
