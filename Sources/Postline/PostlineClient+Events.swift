/// Events, for an app that reacts to changes besides showing them.
extension PostlineClient {
    /// A new subscription of the client's events.
    public var events: ClientEvents { subscribe(to: nil) }

    func subscribe(to conversationID: Conversation.ID?) -> ClientEvents {
        let buffer = EventBuffer(conversationID: conversationID)
        eventBuffers.removeAll { $0.buffer == nil }
        eventBuffers.append(WeakEventBuffer(buffer: buffer))
        return ClientEvents(buffer: buffer)
    }

    func emit(_ event: ClientEvent) {
        for subscription in eventBuffers { subscription.buffer?.append(event) }
    }

    /// Shows the store's newest state, and then emits events that are read from it. Does nothing without a subscription.
    func emitShown(_ events: () -> [ClientEvent]) async {
        guard eventBuffers.contains(where: { $0.buffer != nil }) else { return }
        await reload()
        for event in events() { emit(event) }
    }

    struct WeakEventBuffer {
        weak var buffer: EventBuffer?
    }
}

extension Chat {
    /// A new subscription of the events of this conversation: its received messages and refused changes.
    public var events: ClientEvents { client.subscribe(to: conversationID) }
}
