import NIOCore

/// The line of a `changes` push, assembled from JSON fragments (`docs/protocol.md`, section 4).
struct ChangesLine {
    private var line: ByteBuffer

    /// Returns a push with the batch's cursor and the members that `body` writes.
    static func push(of batch: ChangeBatch, _ body: (inout ChangesLine) -> Void) -> Push {
        let cursor = batch.position.cursor
        var line = ChangesLine(line: ByteBuffer())
        line.line.writeString(
            #"{"jsonrpc":"2.0","method":"changes","params":{"cursor":"\#(cursor)","reset":false,"more":false"#)
        body(&line)
        line.line.writeString("}}\n")
        return Push(line: line.line, cursor: cursor)
    }

    mutating func member(_ name: StaticString, _ value: ByteBuffer) {
        line.writeString(",\"")
        line.writeStaticString(name)
        line.writeString("\":")
        line.writeImmutableBuffer(value)
    }

    /// Writes a list, or nothing if it is empty.
    mutating func list(_ name: StaticString, _ values: some Collection<ByteBuffer>) {
        guard !values.isEmpty else { return }
        var list = ByteBuffer(string: "[")
        for (index, value) in values.enumerated() {
            if index > 0 { list.writeString(",") }
            list.writeImmutableBuffer(value)
        }
        list.writeString("]")
        member(name, list)
    }
}

extension Change.Fact {
    /// The size of the JSON value that the database wrote, in bytes; 0 for a smaller one that is written here.
    package var byteCount: Int {
        switch self {
        case .me(_, let object), .profile(_, _, let object), .message(_, _, let object),
            .openingProfile(_, _, let object), .openingMessage(_, _, let object), .ownMessage(_, _, _, let object),
            .presence(_, _, let object), .openingPresence(_, _, let object), .ownConversation(_, _, let object),
            .reactions(_, _, let object), .ownReactions(_, _, _, let object), .openingReactions(_, _, let object),
            .piece(_, let object), .openingPiece(_, let object):
            object.readableBytes
        case .conversation(_, let conversation): conversation.head.readableBytes + conversation.tail.readableBytes
        case .read, .delivered, .left, .joined: 0
        }
    }

    /// Returns the JSON value that represents the change in a push.
    var object: ByteBuffer {
        switch self {
        case .me(_, let object), .profile(_, _, let object), .message(_, _, let object),
            .openingProfile(_, _, let object), .openingMessage(_, _, let object), .ownMessage(_, _, _, let object),
            .presence(_, _, let object), .openingPresence(_, _, let object), .ownConversation(_, _, let object),
            .reactions(_, _, let object), .ownReactions(_, _, _, let object), .openingReactions(_, _, let object),
            .piece(_, let object), .openingPiece(_, let object):
            object
        case .read(let conversation, let user, let seq):
            ByteBuffer(string: #"{"conversation_id":"\#(conversation)","user_id":"\#(user)","last_read_seq":\#(seq)}"#)
        case .delivered(let conversation, let user, let seq):
            ByteBuffer(
                string: #"{"conversation_id":"\#(conversation)","user_id":"\#(user)","last_delivered_seq":\#(seq)}"#)
        case .left(let conversation, _), .joined(let conversation, _), .conversation(let conversation, _):
            ByteBuffer(string: #""\#(conversation)""#)
        }
    }
}
