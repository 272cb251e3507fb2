/// The acknowledged writes, to be found in the database, and the violated guarantees.
actor WriteLog {
    /// An acknowledged message.
    struct Sent: Sendable, Hashable {
        let id: String
        let conversation: String
        let sender: String
        let clientID: String
        let seq: Int
    }

    /// An acknowledged state of an object, by version.
    struct State: Sendable {
        var version: Int
        var text: String
    }

    /// The acknowledged messages, by sender and client id.
    private(set) var sent: [String: Sent] = [:]

    /// The ids of acknowledged scheduled messages, which are their client ids once they are sent.
    private(set) var scheduled: Set<String> = []

    /// The newest acknowledged content of an edit or deletion, by message.
    private(set) var contents: [String: State] = [:]

    /// The newest acknowledged name, by user.
    private(set) var names: [String: State] = [:]

    /// The newest acknowledged title, by conversation.
    private(set) var titles: [String: State] = [:]

    /// The highest acknowledged read mark, by conversation and user.
    private(set) var marks: [String: Int] = [:]

    /// The conversations of which a user has changed its settings, or tried to.
    private(set) var roomsWithSettings: [String: Set<String>] = [:]

    private(set) var violations: [String] = []

    /// The number of changes, in all and by kind.
    private(set) var changes = 0
    private(set) var kinds: [String: Int] = [:]

    /// The number of `forbidden` and `not_found` responses.
    private(set) var refusals: [String: Int] = [:]
    private var waiters: [(goal: Int, CheckedContinuation<Void, Never>)] = []

    /// Counts committed changes.
    func record(_ kind: String, _ count: Int = 1) {
        changes += count
        kinds[kind, default: 0] += count
        wake()
    }

    func record(refusal: String) { refusals[refusal, default: 0] += 1 }

    private func wake() {
        waiters.removeAll { waiter in
            guard changes >= waiter.goal || isQuiet else { return false }
            waiter.1.resume()
            return true
        }
    }

    /// Waits until the log has this number of changes, or a guarantee is violated.
    func waitForChanges(_ goal: Int) async {
        if changes >= goal || isQuiet { return }
        await withCheckedContinuation { waiters.append((goal, $0)) }
    }

    /// True while all writes should stop: at a quiet point, or after a violation.
    var isQuiet: Bool { isRoundOver || !violations.isEmpty }

    private var isRoundOver = false

    func beginRound() { isRoundOver = false }
    func endRound() { isRoundOver = true }

    /// Records a violation and the client that saw it.
    func recordViolation(_ what: String, by who: String) {
        // The first few suffice: a lost feed violates the guarantee with everything that follows.
        if violations.count < 20 { violations.append("\(who): \(what)") }
        wake()
    }

    /// Records an acknowledged send. A repeated one must have returned the same message.
    func record(sent new: Sent) {
        let key = "\(new.sender) \(new.clientID)"
        if let before = sent[key] {
            if before != new { recordViolation("a send was answered with \(before) and then \(new)", by: new.sender) }
        } else {
            sent[key] = new
            record("sent")
        }
    }

    func record(scheduled id: String) { if scheduled.insert(id).inserted { record("scheduled") } }
    func record(message id: String, _ state: State) { Self.keep(state, in: &contents[id]) }
    func record(name state: State, of user: String) { Self.keep(state, in: &names[user]) }
    func record(title state: State, of conversation: String) { Self.keep(state, in: &titles[conversation]) }

    func recordSettings(of user: String, in room: String) { roomsWithSettings[user, default: []].insert(room) }

    func record(mark seq: Int, of user: String, in conversation: String) {
        let key = "\(conversation) \(user)"
        marks[key] = max(seq, marks[key] ?? 0)
    }

    private static func keep(_ new: State, in held: inout State?) {
        if new.version >= held?.version ?? 0 { held = new }
    }
}
