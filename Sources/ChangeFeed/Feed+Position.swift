package import Foundations

extension Feed {
    /// The point up to which the feed has distributed changes.
    package struct Position {
        package let epoch: String
        package let snapshot: Snapshot
        package let cursor: String

        init(epoch: String, snapshot: Snapshot) {
            self.epoch = epoch
            self.snapshot = snapshot
            cursor = Cursor(epoch: epoch, place: .at(snapshot)).text
        }

        /// Returns true if a page with this start contains everything that was distributed before.
        package func isReached(by start: Start) -> Bool {
            start.epoch == epoch && start.snapshot.covers(snapshot)
        }
    }

    /// The point from which a client's live changes continue, at the end of its last page.
    package struct Start: Sendable {
        package let epoch: String

        /// The snapshot of everything that the client has received.
        package let snapshot: Snapshot

        /// The user's conversations as of `snapshot`.
        package let conversations: [ID]

        /// True if others' presence is shown to the user. Valid while the session is live, since a user who changes it
        /// must resync.
        package let seesPresence: Bool

        /// The users whose presence and typing are not shown to the user because of a block. Valid as ``seesPresence``.
        package let unseenUsers: [ID]

        package init(
            epoch: String, snapshot: Snapshot, conversations: [ID], seesPresence: Bool, unseenUsers: [ID] = []
        ) {
            self.epoch = epoch
            self.snapshot = snapshot
            self.conversations = conversations
            self.seesPresence = seesPresence
            self.unseenUsers = unseenUsers
        }
    }
}
