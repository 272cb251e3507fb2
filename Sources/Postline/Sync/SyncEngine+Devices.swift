import Foundations
import Logging

/// Registration for device pushes.
extension SyncEngine {
    /// Registers this device for the session on each connection and after each change, and removes earlier
    /// registrations. A registration ends with its session.
    func runRegistrationLoop(_ connection: LineConnection) async {
        var backoff = Backoff.reconnect
        while !Task.isCancelled {
            do {
                try await registerDevice(on: connection)
                await registrationSignal.wait()
            } catch let error as PostlineError where error.isRetryable && !error.isUncertain {
                await registrationSignal.wait(
                    atMost: error.retryAfter.map { .seconds(min(max($0, 0.5), 300)) } ?? backoff.next())
            } catch {
                logger.info("the device is not registered for pushes", metadata: ["error": "\(error)"])
                await registrationSignal.wait()
            }
        }
    }

    /// Registers this device now if there is a connection.
    ///
    /// - Throws: ``PostlineError``: the server's error, or `offline`. A retryable error is retried by
    ///   `runRegistrationLoop`.
    func registerDevice() async throws {
        guard isReady, let connection else { return }
        do {
            try await registerDevice(on: connection)
        } catch let error as PostlineError where error.isRetryable {
            registrationSignal.signal()
            throw error
        }
    }

    private struct Registered: Codable, Sendable {
        var id: String
    }

    private func registerDevice(on connection: LineConnection) async throws {
        let state = try registration.read()
        if let wanted = state.device {
            let id = try await connection.call("devices.register", wanted, as: Registered.self).id
            try registration.update { state in
                if state.device == wanted {
                    state.id = id
                    state.formerIDs.removeAll { $0 == id }
                } else {
                    // The device changed meanwhile. The loop registers the new one.
                    state.formerIDs.append(id)
                    registrationSignal.signal()
                }
            }
        }
        for id in state.formerIDs where try registration.read().formerIDs.contains(id) {
            do {
                _ = try await connection.call("devices.remove", Registered(id: id), as: PostlineClient.EmptyResult.self)
            } catch {
                // After `not_found` the registration has ended with its session.
                if error.code != .notFound { throw error }
            }
            try registration.update { state in state.formerIDs.removeAll { $0 == id } }
        }
    }
}
