import Logging

/// What is said of the user while it is here, and where it is to be reached when it is not.
extension SyncEngine {
    private struct TypingParams: Encodable {
        var conversation_id: String
        var is_typing: Bool
    }

    /// Tells the others in a conversation that the user types: seldom enough to be passed on, and soon enough not to
    /// expire.
    func tellTyping(_ isTyping: Bool, in conversationID: String) async {
        guard isReady, let connection else { return }
        let last = toldTyping[conversationID]
        if isTyping {
            if let last, .now - last < .seconds(3) { return }
            toldTyping[conversationID] = .now
        } else {
            guard last != nil else { return }
            toldTyping[conversationID] = nil
        }
        await connection.tell(
            "conversations.typing", TypingParams(conversation_id: conversationID, is_typing: isTyping))
    }

    /// Who has sent something types no more, which needs not be said.
    func hasSent(in conversationID: String) { toldTyping[conversationID] = nil }

    /// Registers this device for this session: with each connection, since a device goes with its session.
    func registerDevice(_ connection: LineConnection) async {
        guard let device = try? device.read() else { return }
        do {
            _ = try await register(device, connection)
        } catch {
            logger.info("the device is not registered for pushes", metadata: ["error": "\(error)"])
        }
    }

    /// - Throws: ``PostlineError``.
    func register(_ device: RegisteredDevice, _ connection: LineConnection) async throws -> String {
        struct Registered: Decodable, Sendable {
            var id: String
        }
        let registered: Registered = try await connection.call("devices.register", device)
        return registered.id
    }

    /// The same on the connection that there is; nil where there is none.
    func register(_ device: RegisteredDevice) async throws -> String? {
        guard isReady, let connection else { return nil }
        return try await register(device, connection)
    }

    /// Fetches what has changed, without being live: nobody is told that the user is here.
    func fetch() async throws {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        try await withTaskCancellationHandler {
            _ = try await keeper.authenticate(connection)
            try await catchUp(connection, isLive: false)
        } onCancel: {
            connection.close()
        }
    }
}
