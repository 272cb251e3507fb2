import Concurrency
import DatabaseAccess
import Postgres
import Synchronization

/// Hashes and verifies passwords on a limited number of threads.
///
/// A hash costs tens of milliseconds and 19 MiB, an imported one up to a second, which neither Swift's shared pool nor
/// an event loop can spare. Requests beyond the threads wait, up to a limit; beyond it they fail with `busy`, so that a
/// flood of sign-ins cannot exhaust memory or time. Addresses take turns, and when the queue is full the one with the
/// most requests gives up its last. The threads have low priority: only sign-ins wait longer.
package final class PasswordHasher: Sendable {
    private enum Work: Sendable {
        case hash(String, CheckedContinuation<Result<String, PasswordHashingError>, Never>)
        case verify(String, String, CheckedContinuation<Result<Bool, PasswordHashingError>, Never>)

        func perform() {
            switch self {
            case .hash(let password, let caller):
                caller.resume(returning: Result { () throws(PasswordHashingError) in try Argon2id.hash(password) })
            case .verify(let password, let hash, let caller):
                caller.resume(
                    returning: Result { () throws(PasswordHashingError) in try StoredHash(hash).matches(password) })
            }
        }

        func refuse(_ error: PasswordHashingError) {
            switch self {
            case .hash(_, let caller): caller.resume(returning: .failure(error))
            case .verify(_, _, let caller): caller.resume(returning: .failure(error))
            }
        }
    }

    private struct State {
        var running = 0
        var queue = FairQueue<(id: Int, work: Work)>()
        var nextID = 0
    }

    private let threads: Int
    private let queueLimit: Int
    private let state = Mutex(State())

    /// Creates a hasher, which has threads only while it works.
    ///
    /// - Parameters:
    ///   - threads: the number of concurrent computations; each takes 19 MiB.
    ///   - queueLimit: the maximum number of waiting requests.
    package init(threads: Int, queueLimit: Int) {
        precondition(threads > 0 && queueLimit >= 0, "a hasher has one thread at least")
        self.threads = threads
        self.queueLimit = queueLimit
    }

    /// The number of threads that compute.
    var running: Int { state.withLock(\.running) }

    /// The number of waiting passwords.
    package var waiting: Int { state.withLock { $0.queue.count } }

    /// Hashes a password with a random salt into a PHC string (`$argon2id$v=19$m=19456,t=2,p=1$…`).
    ///
    /// - Throws: `busy`, `cancelled` (while waiting), `failed`.
    package func hash(_ password: String) async throws(PasswordHashingError) -> String {
        try await perform { .hash(password, $0) }
    }

    /// Returns true if the hash was made from the password, compared in constant time.
    ///
    /// - Parameter hash: a PHC string of Argon2id, or a bcrypt hash.
    /// - Throws: as `hash`, and `unreadableHash`, which takes as long as a wrong password.
    package func verify(_ password: String, against hash: String) async throws(PasswordHashingError) -> Bool {
        try await perform { .verify(password, hash, $0) }
    }

    /// Returns true if `hash` made it; other hashes should be replaced when the password is known.
    package static func isArgon2id(_ hash: String) -> Bool { hash.hasPrefix("$argon2id$") }

    /// Takes as long as `verify`, for an account that does not exist, so that the time does not reveal that.
    ///
    /// - Throws: as `hash`.
    package func verifyDummy(_ password: String) async throws(PasswordHashingError) {
        _ = try await verify(password, against: Argon2id.dummyHash)
    }

    private func perform<Value: Sendable>(
        _ makeWork: (CheckedContinuation<Result<Value, PasswordHashingError>, Never>) -> Work
    ) async throws(PasswordHashingError) -> Value {
        if Task.isCancelled { throw .cancelled }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let answer = await withTaskCancellationHandler {
            await withSuspension { caller in
                submit(id, makeWork(caller))
                return .suspend
            }
        } onCancel: {
            cancel(id)
        }
        return try answer.get()
    }

    private func submit(_ id: Int, _ work: Work) {
        enum Decision {
            case start
            case wait(insteadOf: Work?)
            case refuse(PasswordHashingError)
        }
        // All accounts at an address are one line: each may check passwords.
        let address = CurrentRequest.current.flatMap(\.owner.address).map { RequestOwner($0) }
        let decision: Decision = state.withLock { state in
            if state.running < threads {
                state.running += 1
                return .start
            }
            var displaced: Work?
            if state.queue.count >= queueLimit {
                let largest = state.queue.owners.max { state.queue.count(of: $0) < state.queue.count(of: $1) }
                guard let address, let largest, state.queue.count(of: largest) > state.queue.count(of: address) + 1
                else { return .refuse(.busy) }
                displaced = state.queue.popLast(of: largest)?.work
            }
            state.queue.append((id, work), of: address)
            return .wait(insteadOf: displaced)
        }
        switch decision {
        case .wait(let displaced):
            displaced?.refuse(.busy)
            // An earlier cancellation did not find the request in the queue.
            if Task.isCancelled { cancel(id) }
        case .refuse(let error): work.refuse(error)
        case .start:
            do {
                try DetachedThread.start(name: "passwords", priority: .low) { self.work(through: work) }
            } catch {
                // The queue is served by running threads; if none runs, the queue is empty.
                state.withLock { $0.running -= 1 }
                work.refuse(.busy)
            }
        }
    }

    /// Runs a thread: its work, then the queue's until that is empty.
    private func work(through first: Work) {
        var next: Work? = first
        while let work = next {
            work.perform()
            next = state.withLock { state in
                let next = state.queue.popFirst()?.work
                if next == nil { state.running -= 1 }
                return next
            }
        }
    }

    private func cancel(_ id: Int) {
        let waiting: Work? = state.withLock { state in
            state.queue.remove { $1.id == id }.first?.work
        }
        waiting?.refuse(.cancelled)
    }
}
