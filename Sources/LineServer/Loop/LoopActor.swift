package import Concurrency

/// An actor that runs on an event loop and enters other actors of the same loop without a hop.
package actor LoopActor {
    private nonisolated let executor: LoopExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The executor lives as long as this actor.
        unsafe executor.asUnownedSerialExecutor()
    }

    package init(_ executor: LoopExecutor) { self.executor = executor }

    /// Starts a task on the loop. The caller must ensure that it ends.
    @discardableResult
    package func begin(_ work: @escaping @Sendable (isolated LoopActor) async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor) { await work(self) }
    }
}
