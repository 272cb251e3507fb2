import Foundations

/// The sockets and deadlines that a reactor waits for by `poll(2)`.
///
/// A pool has about ten sockets: checking all after each poll costs less than keeping them sorted.
struct PollSet: ~Copyable {
    /// An event of a watch.
    enum Event: Sendable {
        /// The socket can be read or written, or has failed.
        case ready
        /// The deadline has passed, and is cleared.
        case due
    }

    typealias Handler = @Sendable (Event) -> Void

    /// The identity of a watch: its index and the index's generation.
    struct Watch: Sendable, Hashable {
        fileprivate let place: Int
        fileprivate let generation: Int
    }

    private struct Entry {
        var handler: Handler?
        var generation = 0
        var deadline: ContinuousClock.Instant?
    }

    // The two arrays are parallel. The first element is the wake pipe's.
    private var descriptors = [pollfd(fd: -1, events: Int16(POLLIN), revents: 0)]
    private var entries = [Entry()]
    private var freeIndices: [Int] = []
    private var scanned = 0
    private var now = ContinuousClock.now

    /// The reading end of the wake pipe.
    var wakeDescriptor: Int32 {
        get { descriptors[0].fd }
        set { descriptors[0].fd = newValue }
    }

    mutating func add(_ descriptor: Int32?, _ handler: @escaping Handler) -> Watch {
        let place = freeIndices.popLast() ?? entries.count
        if place == entries.count {
            descriptors.append(pollfd())
            entries.append(Entry())
        }
        // poll(2) ignores a negative descriptor.
        descriptors[place] = pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        entries[place].handler = handler
        entries[place].deadline = nil
        return Watch(place: place, generation: entries[place].generation)
    }

    mutating func setWriting(_ writing: Bool, of watch: Watch) {
        guard isCurrent(watch) else { return }
        descriptors[watch.place].events = Int16(writing ? POLLIN | POLLOUT : POLLIN)
    }

    mutating func setDeadline(_ deadline: ContinuousClock.Instant?, of watch: Watch) {
        guard isCurrent(watch) else { return }
        entries[watch.place].deadline = deadline
    }

    mutating func remove(_ watch: Watch) {
        guard isCurrent(watch) else { return }
        descriptors[watch.place] = pollfd(fd: -1, events: 0, revents: 0)
        entries[watch.place].handler = nil
        entries[watch.place].deadline = nil
        entries[watch.place].generation += 1
        freeIndices.append(watch.place)
    }

    private func isCurrent(_ watch: Watch) -> Bool { entries[watch.place].generation == watch.generation }

    /// Polls. With `waiting` it blocks until a socket is ready, a deadline has passed or the pipe is written.
    mutating func poll(waiting: Bool) {
        let timeout: Int32 = waiting ? millisecondsToNextDeadline : 0
        let ready = unsafe descriptors.withUnsafeMutableBufferPointer { buffer in
            unsafe systemPoll(buffer.baseAddress, nfds_t(buffer.count), timeout)
        }
        if ready <= 0 {
            // No event, or interrupted by a signal: then `revents` is undefined.
            for place in descriptors.indices { descriptors[place].revents = 0 }
        }
        if descriptors[0].revents != 0 {
            descriptors[0].revents = 0
            drainWakePipe()
        }
        scanned = 1
        now = .now
    }

    /// Returns the next watch with an event after a poll, or nil.
    mutating func next() -> (Handler, Event)? {
        while scanned < entries.count {
            let place = scanned
            if descriptors[place].revents != 0 {
                descriptors[place].revents = 0
                if let handler = entries[place].handler { return (handler, .ready) }
            }
            scanned += 1
            if let deadline = entries[place].deadline, deadline <= now {
                entries[place].deadline = nil
                if let handler = entries[place].handler { return (handler, .due) }
            }
        }
        return nil
    }

    private var millisecondsToNextDeadline: Int32 {
        var next: ContinuousClock.Instant?
        for entry in entries {
            if let deadline = entry.deadline { next = min(deadline, next ?? deadline) }
        }
        guard let next else { return -1 }
        let wait = min(next - .now, .seconds(3_600))
        let (seconds, attoseconds) = wait.components
        // Rounded up, since waking early would mean another poll.
        return wait <= .zero ? 0 : Int32(seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    private func drainWakePipe() {
        var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        while unsafe read(wakeDescriptor, &bytes, 32) == 32 {}
    }
}

/// `poll(2)`, named apart from the method that calls it.
private func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ timeout: Int32) -> Int32 {
    unsafe poll(descriptors, count, timeout)
}
