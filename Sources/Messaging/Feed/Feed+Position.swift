extension Feed {
    /// Up to where the feed has told what changed.
    struct Position {
        let epoch: String
        let snapshot: Snapshot
        let cursor: String

        init(epoch: String, snapshot: Snapshot) {
            self.epoch = epoch
            self.snapshot = snapshot
            cursor = Cursor(epoch: epoch, place: .at(snapshot)).text
        }

        /// Whether a page that begins there has all that was told before.
        func isReached(by start: SyncPage.Start) -> Bool {
            start.epoch == epoch && start.snapshot.covers(snapshot)
        }
    }
}
