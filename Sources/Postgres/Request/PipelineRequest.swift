/// A request to a connection: a pipeline with its Sync, or a script.
///
/// It receives libpq's results one by one and composes the caller's result. A result counts only once the end has come:
/// a deferred constraint can fail after all rows have arrived.
struct PipelineRequest: Sendable {
    /// The content of a request.
    enum Work: Sendable {
        case pipeline([Call])
        case script(String)
    }

    /// The part of the pipeline that the next result belongs to.
    enum Step: Sendable {
        case prepare(Statement)
        case call

        /// The transaction's settings, whose rows the caller does not get.
        case prelude
    }

    /// The meaning of a result for the connection.
    enum Outcome: Sendable {
        /// More results follow.
        case more
        /// The statement is now prepared on the connection.
        case prepared(Statement)
        /// The caller can be resumed, and the connection is free.
        case finished
        /// The connection is in an unrecoverable state.
        case unusable(String)
    }

    /// The kind of a result, from libpq's status.
    enum ResultKind: Sendable {
        case rows
        case error
        /// Skipped, because an earlier part of the pipeline failed.
        case skipped
        case sync
        /// `COPY`, which is not supported.
        case copy
    }

    let id: Int
    let work: Work
    let deadline: ContinuousClock.Instant?
    /// Resumes the caller, once, on the connection's thread.
    let reply: @Sendable (Result<[Rows], PostgresError>) -> Void
    /// The order of the server's results. Set when sending, when it is known what must be prepared.
    var steps: [Step] = []
    /// True if any of it may have reached the operating system.
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

    /// The caller's result once the request is finished.
    var result: Result<[Rows], PostgresError> {
        if let error { .failure(.server(error)) } else { .success(rows) }
    }

    /// Returns true if the statement's PREPARE precedes the next call.
    func prepares(_ statement: Statement) -> Bool {
        steps.contains { if case .prepare(statement) = $0 { true } else { false } }
    }

    /// Handles a result.
    mutating func receive(_ kind: ResultKind, _ result: consuming ResultHandle) -> Outcome {
        switch kind {
        case .rows:
            if case .script = work {
                rows.append(Rows(result))
                return .more
            }
            guard step < steps.count else { return .unusable("a result without a statement") }
            switch steps[step] {
            case .prepare(let statement): return .prepared(statement)
            case .prelude: return .more
            case .call:
                rows.append(Rows(result))
                return .more
            }
        case .error:
            // The first error is the cause; a server that ends the connection reports that last.
            let error = result.error
            if self.error == nil || error.endsConnection { self.error = error }
            return .more
        case .skipped: return .more
        case .sync: return .finished
        case .copy: return .unusable("COPY from or to the client is not supported")
        }
    }

    /// Handles that libpq has no more results of the current command.
    mutating func receiveEnd() -> Outcome {
        if case .script = work { return .finished }
        step += 1
        // An error at the Sync itself, from a deferred constraint, has its own end.
        return step <= steps.count + 1 ? .more : .unusable("more results than statements")
    }
}
