internal import LineClient
internal import Messaging

/// What a `sync.open` answers and a `changes` pushes.
struct Changes: Sendable, Equatable {
    struct Read: Sendable, Equatable {
        let conversationID: String
        let userID: String
        let lastReadSeq: Int
    }

    var cursor = ""
    var reset = false
    var more = false
    var me: Me?
    var profiles: [Person] = []
    var conversations: [Conversation] = []
    var messages: [Message] = []
    var reads: [Read] = []
    var left: [String] = []
    var limited: [String] = []

    init() {}

    init(_ json: JSONObject) {
        func list(_ name: String) -> [JSON] { json[name]?.arrayValue ?? [] }
        cursor = json["cursor"]?.stringValue ?? ""
        reset = json["reset"]?.booleanValue ?? false
        more = json["more"]?.booleanValue ?? false
        me = json["me"].flatMap(Me.init)
        profiles = list("profiles").compactMap(Person.init)
        conversations = list("conversations").compactMap(Conversation.init)
        messages = list("messages").compactMap(Message.init)
        reads = list("reads").compactMap { read in
            guard let conversationID = read["conversation_id"]?.stringValue, let userID = read["user_id"]?.stringValue,
                let seq = read["last_read_seq"]?.integerValue
            else { return nil }
            return Read(conversationID: conversationID, userID: userID, lastReadSeq: seq)
        }
        left = list("left").compactMap(\.stringValue)
        limited = list("limited").compactMap(\.stringValue)
    }
}
