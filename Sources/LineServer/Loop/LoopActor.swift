/// An event loop as an actor: what is isolated to it runs there, and enters the loop's other actors where it stands.
actor LoopActor {
    private nonisolated let executor: LoopExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The executor lives as long as this does.
        unsafe executor.asUnownedSerialExecutor()
    }

    init(_ executor: LoopExecutor) { self.executor = executor }

    /// Begins a task that lives on the loop. Whoever begins it sees to it that it ends.
    func begin(_ work: @escaping @Sendable (isolated LoopActor) async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor) { await work(self) }
    }
}
