/// Texts that one client sent one after another, and how it learns that it is their turn.
struct SendWaiter<Caller: Sendable>: Sendable {
    let texts: [OutgoingText]
    let caller: Caller
}

/// Which texts wait, and which are under way: decides who goes on when something comes, or has ended (``SendGroups``).
///
/// - Parameters:
///   - Caller: how a client learns that it is its turn.
///   - Sender: how one who sends groups does.
struct SendQueue<Caller: Sendable, Sender> {
    typealias Waiter = SendWaiter<Caller>

    /// Who is to go on.
    enum Step {
        /// It has waited for too long.
        case late(Waiter)

        /// It is a group of one, and under way.
        case alone(Waiter)

        /// They are a group, and under way; none where there will be no more.
        case together([Waiter], Sender)

        /// There is nobody to send them: each does so alone.
        case apart([Waiter])
    }

    /// How many groups may be under way at once. With two at any time the groups are half as large, and the same texts
    /// take the database longer (docs/performance.md).
    static var width: Int { 2 }

    /// How many texts are sent together at most.
    static var mostTogether: Int { 64 }

    private var waiting: WaitingQueue<Waiter>
    private var waitingTexts = 0

    /// How many groups are under way, those of one included, and the conversations of their texts.
    private var groupsUnderWay = 0
    private var conversations: Set<ID> = []

    /// Those who send groups, as long as they have none.
    private var idle: [Sender] = []
    private var isEnding = false

    /// - Parameter waitTimeout: how long texts wait for their turn.
    init(waitTimeout: Duration) { waiting = WaitingQueue(waitTimeout: waitTimeout) }

    /// Somebody has texts to send.
    ///
    /// - Returns: nil where it is its turn at once, as a group of one.
    mutating func take(_ waiter: Waiter) -> [Step]? {
        if groupsUnderWay == 0, waiter.texts.count == 1 {
            begin(waiter.texts)
            return nil
        }
        waiting.append(waiter)
        waitingTexts += waiter.texts.count
        return next()
    }

    /// The texts of a group are no longer under way.
    mutating func ended(_ texts: [OutgoingText]) -> [Step] {
        groupsUnderWay -= 1
        for text in texts { conversations.remove(text.conversation) }
        return next()
    }

    /// Somebody sends groups, and waits for one.
    ///
    /// - Returns: false where there will be none any more.
    mutating func wait(_ sender: Sender) -> Bool {
        if !isEnding { idle.append(sender) }
        return !isEnding
    }

    /// From now on there is nobody who sends groups.
    mutating func end() -> [Step] {
        isEnding = true
        let senders = idle
        idle = []
        return next() + senders.map { .together([], $0) }
    }

    private mutating func begin(_ texts: [OutgoingText]) {
        groupsUnderWay += 1
        for text in texts { conversations.insert(text.conversation) }
    }

    /// Begins as many groups as may be.
    private mutating func next() -> [Step] {
        var steps: [Step] = []
        for late in waiting.popLate() {
            waitingTexts -= late.texts.count
            steps.append(.late(late))
        }
        while groupsUnderWay == 0 || groupsUnderWay < Self.width && waitingTexts >= Self.mostTogether {
            var selection = SendSelection(most: Self.mostTogether, busy: conversations)
            let group = waiting.popFirst(Self.mostTogether) { selection.takes($0.texts) }
            guard let first = group.first else { break }
            waitingTexts -= selection.count
            if selection.count == 1 {
                begin(first.texts)
                steps.append(.alone(first))
            } else if let sender = idle.popLast() {
                begin(group.flatMap(\.texts))
                steps.append(.together(group, sender))
            } else {
                // As many send groups as may be under way: there is none only before the service runs, and after.
                steps.append(.apart(group))
            }
        }
        return steps
    }
}
