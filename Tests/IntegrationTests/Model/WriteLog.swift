import LineClient
import Messaging

/// The acknowledged writes, which the database must contain, and all observed violations.
actor WriteLog {
    /// A message that was answered.
    struct Sent: Sendable, Hashable {
        let id: String
        let conversation: String
        let sender: String
        let clientID: String
        let seq: Int
    }

    /// A state of an object that was answered, by its version.
    struct State: Sendable {
        var version: Int
        var text: String
    }

    /// The messages that were answered, by sender and client id.
    private(set) var sent: [String: Sent] = [:]

    /// The newest content that an edit or a deletion was answered with, by message.
    private(set) var contents: [String: State] = [:]

    /// The newest name that a user's change was answered with.
    private(set) var names: [String: State] = [:]

    /// The newest title that was answered, by conversation.
    private(set) var titles: [String: State] = [:]

    /// The farthest mark that was answered, by conversation and user.
    private(set) var marks: [String: Int] = [:]

    private(set) var violations: [String] = []

    /// The number of changes, and their kinds.
    private(set) var changes = 0
    private(set) var kinds: [String: Int] = [:]

    /// The number of refused requests, by error.
    private(set) var refusals: [String: Int] = [:]
    private var waiters: [(goal: Int, CheckedContinuation<Void, Never>)] = []

    /// Counts changes that are committed.
    func note(_ kind: String, _ count: Int = 1) {
        changes += count
        kinds[kind, default: 0] += count
        wake()
    }

    func note(refusal: String) { refusals[refusal, default: 0] += 1 }

    private func wake() {
        waiters.removeAll { waiter in
            guard changes >= waiter.goal || isQuiet else { return false }
            waiter.1.resume()
            return true
        }
    }

    /// Returns when so many changes were made in all, or the promise is broken.
    func reaches(_ goal: Int) async {
        if changes >= goal || isQuiet { return }
        await withCheckedContinuation { waiters.append((goal, $0)) }
    }

    /// True if all devices must pause: at a quiet point, or after a violation.
    var isQuiet: Bool { isRoundOver || !violations.isEmpty }

    private var isRoundOver = false

    func beginRound() { isRoundOver = false }
    func endRound() { isRoundOver = true }

    /// The promise is broken; kept with who saw it.
    func broken(_ what: String, by who: String) {
        // The first few tell; a feed that lost its way breaks it with everything that follows.
        if violations.count < 20 { violations.append("\(who): \(what)") }
        wake()
    }

    /// A send was answered. Answered again, it must be with the same message.
    func note(sent new: Sent) {
        let key = "\(new.sender) \(new.clientID)"
        if let before = sent[key] {
            if before != new { broken("a send was answered with \(before) and then \(new)", by: new.sender) }
        } else {
            sent[key] = new
            note("sent")
        }
    }

    func note(message id: String, _ state: State) { Self.keep(state, in: &contents[id]) }
    func note(name state: State, of user: String) { Self.keep(state, in: &names[user]) }
    func note(title state: State, of conversation: String) { Self.keep(state, in: &titles[conversation]) }

    func note(mark seq: Int, of user: String, in conversation: String) {
        let key = "\(conversation) \(user)"
        marks[key] = max(seq, marks[key] ?? 0)
    }

    private static func keep(_ new: State, in held: inout State?) {
        if new.version >= held?.version ?? 0 { held = new }
    }
}
