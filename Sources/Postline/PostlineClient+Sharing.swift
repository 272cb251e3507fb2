import Foundation

/// Following the other processes that share the store.
extension PostlineClient {
    /// The last known state of what other processes change.
    struct SharedState {
        /// The file with the signed-in user.
        var device: FileIdentity?
        var dataVersion = 0
        /// The number of the last message whose arrival is reported.
        var lastArrivalID: Int64 = 0
    }

    /// Shows the changes of other processes, until the client is released.
    func followProcesses() {
        guard locks.isShared else { return }
        // The task ends with the client.
        Task { [weak self] in
            while self != nil {
                if self?.isInBackground == false { await self?.showChangesOfProcesses() }
                try? await Task.sleep(for: SyncEngine.sharedPollInterval)
            }
        }
    }

    /// Shows what other processes have changed: the user, the store's file and its content.
    ///
    /// A process in the background calls this only before it uses the store, because the system ends one that it
    /// suspends during a read.
    func showChangesOfProcesses() async {
        guard locks.isShared, !isChangingUser else { return }
        let file = FileIdentity(DeviceState.url(folder))
        if file != sharedState.device {
            guard let device = try? DeviceState.read(in: folder) else { return }
            sharedState.device = file
            if device.userID != store?.userID { return await switchUser() }
        }
        guard let store else { return }
        if store.isReplaced { return await switchUser() }
        do {
            let version = try await store.dataVersion()
            guard store === self.store, version != sharedState.dataVersion else { return }
            sharedState.dataVersion = version
            await engine?.storeDidChangeElsewhere()
            await showChanges(of: store)
        } catch {
            await reload()
        }
    }

    private func showChanges(of store: Store) async {
        let (refused, after) = (Set(refusedChanges.map(\.id)), sharedState.lastArrivalID)
        let found = try? await store.read { (try $0.arrivals(after: after), try $0.lastArrivalID()) }
        let isFollowing = await engine?.isFollowing == true
        await reload()
        guard store === self.store else { return }
        // Another process has turned the guest into an account.
        if case .guest(let userID) = account, me?.isGuest == false { account = .user(id: userID) }
        if isFollowing {
            for change in refusedChanges where !refused.contains(change.id) { emit(.changeRefused(change)) }
        }
        guard let (arrivals, last) = found, after == sharedState.lastArrivalID else { return }
        sharedState.lastArrivalID = last
        for arrival in arrivals where arrival.store != store.sharedID { emit(.messageReceived(arrival.message)) }
    }

    /// Shows the device's user, and that user's file, after another process has changed either.
    func switchUser() async {
        let former = store?.userID
        do {
            try restart()
            if store == nil { show(signedOutBecause: nil) }
        } catch {
            // It is shown.
        }
        if store?.userID != former { await retirePictures() }
        if isDisconnecting { await stop() }
    }

    /// Returns true if this is the device's user, and false if another process has signed in or out since.
    func isDeviceUser(_ userID: User.ID?) throws -> Bool {
        try !locks.isShared || DeviceState.read(in: folder).userID == userID
    }

    /// Ends the session of a user whose tokens the server has rejected. Does nothing if another process has signed in
    /// since.
    ///
    /// - Returns: True if this device is signed out.
    func endSession(of store: Store, rejected: Tokens) async throws -> Bool {
        try await locks.lockingSession {
            guard store === self.store, try isDeviceUser(store.userID) else { return false }
            if locks.isShared, let tokens = try TokenKeeper.load(store.userID, from: secrets), tokens != rejected {
                return false
            }
            try locks.lockingFolder {
                // If the response to the deletion was lost, the end of the session confirms it.
                let isDeleted = (try? store.readNow { try $0.isDeletionPending }) == true
                try secrets.erase(named: store.userID.rawValue)
                try DeviceState.set(nil, in: folder)
                try store.close(erasing: isDeleted)
            }
            return true
        }
    }
}
