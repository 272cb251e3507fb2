/// One thing that a connection does for one caller: a pipeline with its Sync, or a script.
///
/// It is told libpq's results one by one and knows what the caller is to hear at the end. An answer counts only once the
/// end has come: a deferred constraint can fail after all rows were there.
struct PipelineRequest: Sendable {
    /// What is sent.
    enum Work: Sendable {
        case pipeline([Call])
        case script(String)
    }

    /// What of the pipeline the next result belongs to.
    enum Step: Sendable {
        case prepare(Statement)
        case call

        /// The session's settings, whose rows the caller does not get.
        case prelude
    }

    /// What a result means for the connection.
    enum Outcome: Sendable {
        /// More is to come.
        case more
        /// This name is prepared on the connection from now on.
        case prepared(Statement)
        /// The caller can be told, and the connection is free.
        case finished
        /// The connection is in a state that it cannot be brought out of.
        case unusable(String)
    }

    /// What libpq's status of a result comes down to.
    enum ResultKind: Sendable {
        case rows
        case error
        /// Passed over, because something before it in the pipeline failed.
        case skipped
        case sync
        /// `COPY`, which wants a conversation that nobody here holds.
        case copy
    }

    let id: Int
    let work: Work
    let deadline: ContinuousClock.Instant?
    /// Tells the caller, once, on the connection's thread.
    let reply: @Sendable (Result<[Rows], PostgresError>) -> Void
    /// In which order the server answers. Set when it is sent, because only then is it known what must be prepared.
    var steps: [Step] = []
    /// Whether anything of it may have reached the operating system.
    var isSent = false
    private(set) var error: ServerError?
    private(set) var rows: [Rows] = []
    private var step = 0

    init(
        id: Int, work: Work, deadline: ContinuousClock.Instant?,
        reply: @escaping @Sendable (Result<[Rows], PostgresError>) -> Void
    ) {
        self.id = id
        self.work = work
        self.deadline = deadline
        self.reply = reply
    }

    /// What the caller hears once the request is finished.
    var answer: Result<[Rows], PostgresError> {
        if let error { .failure(.server(error)) } else { .success(rows) }
    }

    /// Whether the statement's PREPARE stands before the call that is added next.
    func prepares(_ statement: Statement) -> Bool {
        steps.contains { if case .prepare(statement) = $0 { true } else { false } }
    }

    /// Takes in a result.
    mutating func take(_ kind: ResultKind, _ result: consuming ResultHandle) -> Outcome {
        switch kind {
        case .rows:
            if case .script = work {
                rows.append(Rows(result))
                return .more
            }
            guard step < steps.count else { return .unusable("an answer that belongs to no statement") }
            switch steps[step] {
            case .prepare(let statement): return .prepared(statement)
            case .prelude: return .more
            case .call:
                rows.append(Rows(result))
                return .more
            }
        case .error:
            // The first is the cause; a server that ends the connection says so last.
            let error = result.error
            if self.error == nil || error.endsConnection { self.error = error }
            return .more
        case .skipped: return .more
        case .sync: return .finished
        case .copy: return .unusable("COPY from or to the client is not supported")
        }
    }

    /// Takes in that libpq has no more results of the present command.
    mutating func takeEnd() -> Outcome {
        if case .script = work { return .finished }
        step += 1
        // An error that comes at the Sync itself, from a deferred constraint, has an end of its own.
        return step <= steps.count + 1 ? .more : .unusable("more answers than statements")
    }
}
