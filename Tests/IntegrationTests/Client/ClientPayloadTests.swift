import Foundation
import Testing

@testable import Postline

@Suite("Push payloads")
struct ClientPayloadTests {
    private static let conversation = "a0000000-0000-4000-8000-000000000001"

    @Test("reads a notification of each kind, from user info and from JSON")
    func kinds() throws {
        let info: [AnyHashable: Any] = [
            "aps": ["alert": ["title": "Bob"], "badge": 3, "content-available": 1] as [String: Any],
            "conversation_id": Self.conversation, "seq": 7, "sender_id": "bob", "title": "Bob", "body": "Hi",
            "badge": 3,
            "later": ["anything": [1, 2.5, "three"] as [Any]],
        ]
        let payload = try #require(PushPayload(userInfo: info))
        #expect(payload.kind == .message && payload.conversationID.rawValue == Self.conversation && payload.seq == 7)
        #expect(payload.senderID == "bob" && payload.title == "Bob" && payload.body == "Hi" && payload.badge == 3)
        let data = try JSONSerialization.data(withJSONObject: info)
        #expect(PushPayload(data: data) == payload)
        let read = try #require(
            PushPayload(data: Data(#"{"conversation_id":"\#(Self.conversation)","read_seq":"5","badge":"0"}"#.utf8)))
        #expect(read.kind == .read && read.seq == 5 && read.badge == 0 && read.title == nil)
        let reaction = try #require(
            PushPayload(
                data: Data(
                    #"{"conversation_id":"\#(Self.conversation)","type":"reaction","seq":"5","emoji":"👍"}"#.utf8)))
        #expect(reaction.kind == .reaction && reaction.seq == 5 && reaction.emoji == "👍")
        let new = try #require(PushPayload(userInfo: ["conversation_id": Self.conversation, "type": "later"]))
        #expect(new.kind == "later" && new.seq == nil)
    }

    @Test(
        "returns nil for what is none or is not valid",
        arguments: [
            "", "[]", "7", "{}", #"{"aps":{"badge":4}}"#, #"{"conversation_id":"C"}"#,
            #"{"conversation_id":"C","seq":-1}"#,
            #"{"conversation_id":"C","seq":1.5}"#, #"{"conversation_id":"C","seq":"x"}"#,
            #"{"conversation_id":"C","seq":9007199254740993}"#, #"{"conversation_id":"C","seq":1,"badge":[]}"#,
            #"{"conversation_id":"C","seq":1,"title":5}"#, #"{"conversation_id":"C","seq":1,"type":"read"}"#,
            #"{"conversation_id":"C","read_seq":1,"type":"reaction"}"#, #"{"conversation_id":"C","seq":1,"emoji":5}"#,
            #"{"conversation_id":5,"seq":1}"#, #"{"conversation_id":"not an id","seq":1}"#,
        ])
    func invalid(_ text: String) throws {
        let data = Data(text.replacing("\"C\"", with: "\"\(Self.conversation)\"").utf8)
        #expect(PushPayload(data: data) == nil)
        if let info = try? JSONSerialization.jsonObject(with: data) as? [String: Any] {
            #expect(PushPayload(userInfo: info) == nil)
        }
    }
}
