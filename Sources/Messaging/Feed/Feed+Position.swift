extension Feed {
    /// The point up to which the feed has distributed changes.
    struct Position {
        let epoch: String
        let snapshot: Snapshot
        let cursor: String

        init(epoch: String, snapshot: Snapshot) {
            self.epoch = epoch
            self.snapshot = snapshot
            cursor = Cursor(epoch: epoch, place: .at(snapshot)).text
        }

        /// Returns true if a page with this start contains everything that was distributed before.
        func isReached(by start: SyncPage.Start) -> Bool {
            start.epoch == epoch && start.snapshot.covers(snapshot)
        }
    }
}
