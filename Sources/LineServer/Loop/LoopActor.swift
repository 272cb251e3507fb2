package import EventLoops

/// An event loop as an actor: what is isolated to it runs there, and enters the loop's other actors where it stands.
package actor LoopActor {
    private nonisolated let executor: LoopExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The executor lives as long as this does.
        unsafe executor.asUnownedSerialExecutor()
    }

    package init(_ executor: LoopExecutor) { self.executor = executor }

    /// Begins a task that lives on the loop. Whoever begins it sees to it that it ends.
    @discardableResult
    package func begin(_ work: @escaping @Sendable (isolated LoopActor) async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor) { await work(self) }
    }
}
