import Foundation
@testable import Outbox
import Testing

/// Sizes of payloads (E25) and refusals of FCM (E26).
@Suite("Push payloads")
struct PushPayloadTests {
    private static let texts = [
        "hello", String(repeating: "\"", count: 1_000), String(repeating: "\\", count: 4_000),
        String(repeating: "\n", count: 1_000), String(repeating: "\u{1}", count: 8_000),
        String(repeating: "\u{7F}\u{2028}", count: 500), String(repeating: "/", count: 2_000),
        String(repeating: "👩‍👩‍👧‍👦", count: 300), String(repeating: "漢字", count: 2_000),
        String(repeating: "e\u{301}", count: 2_000), "e" + String(repeating: "\u{301}", count: 4_000),
        String(repeating: "🏳️‍🌈\"\\\u{1}", count: 500), String(repeating: "\r\n", count: 2_000),
        String(repeating: "a", count: 996) + "👍🏽👍🏽", "<&>'" + String(repeating: "\u{0}", count: 900), "",
    ]

    private func push(_ content: String?, sender: String = "Alice Moreau", title: String? = nil) -> DevicePush {
        let order = PushOrder.message(content, by: sender, in: title)
        return DevicePush(order: order, text: PushTexts().text(of: order))
    }

    private func json(_ bytes: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    @Test("an APNs payload has at most 4,096 bytes", arguments: texts)
    func apns(_ text: String) throws {
        for push in [push(text), push(text, sender: text, title: text), push(nil, sender: text, title: text)] {
            let bytes = try APNsProvider.payload(of: push)
            #expect(bytes.count <= 4_096)
            let payload = try json(bytes)
            let alert = try #require((payload["aps"] as? [String: Any])?["alert"] as? [String: Any])
            let whole = try #require(push.text)
            try expect(alert["title"] as? String, beginsAs: whole.title)
            try expect(alert["body"] as? String, beginsAs: whole.body)
            #expect(alert["body"] as? String == payload["body"] as? String)
            #expect(payload["seq"] as? Int64 == .max && payload["conversation_id"] != nil)
        }
    }

    @Test("an FCM message has at most 4,000 bytes without its token", arguments: texts)
    func fcm(_ text: String) throws {
        for push in [push(text), push(text, sender: text, title: text)] {
            var message = try #require(try json(FCMProvider.body(of: push))["message"] as? [String: Any])
            #expect((message.removeValue(forKey: "token") as? String)?.utf8.count == 2_048)
            let bytes = try JSONSerialization.data(withJSONObject: message, options: .withoutEscapingSlashes)
            #expect(bytes.count <= 4_000)
            let notification = try #require(message["notification"] as? [String: Any])
            try expect(notification["body"] as? String, beginsAs: push.text?.body)
        }
    }

    /// Expects a whole text, or a prefix of whole Unicode scalars with an ellipsis.
    private func expect(_ shown: String?, beginsAs whole: String?) throws {
        guard let whole else { return #expect(shown == nil) }
        let shown = try #require(shown)
        if Array(shown.utf8) == Array(whole.utf8) { return }
        let kept = Array(shown.unicodeScalars)
        let ending = Array(whole.unicodeScalars)
        #expect(kept.last == "…" && ending.starts(with: kept.dropLast()), "\(shown.prefix(20))")
    }

    @Test("keeps as much of a text as fits")
    func longest() throws {
        for text in [String(repeating: "\"", count: 1_000), String(repeating: "\u{1}", count: 1_000)] {
            #expect(try APNsProvider.payload(of: push(text)).count > 4_096 - 16)
        }
    }

    @Test(
        "cuts a text between characters, or scalars if one is too long",
        arguments: [
            ("abc", 3, "abc"), ("abcd", 3, "…"), ("abcde", 4, "a…"), ("äöü", 5, "ä…"), ("äöü", 6, "äöü"),
            ("👍🏽👍🏽", 11, "👍🏽…"), ("e\u{301}e\u{301}e\u{301}", 8, "e\u{301}…"), ("a", 0, "…"), ("", 0, ""),
            ("e\u{301}\u{301}\u{301}", 6, "e\u{301}…"), ("a\r\nb\r\n", 5, "a…"), ("漢字漢", 8, "漢…"),
        ])
    func cut(_ text: String, _ limit: Int, _ expected: String) {
        #expect(Array(text.shortened(to: limit).utf8) == Array(expected.utf8))
    }

    @Test(
        "an FCM error about the token removes the device",
        arguments: [
            (#"{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}"#, true),
            (#"{"status":"UNREGISTERED"}"#, true),
            (#"{"status":"PERMISSION_DENIED","details":[{"errorCode":"SENDER_ID_MISMATCH"}]}"#, true),
            (
                #"{"status":"INVALID_ARGUMENT","message":"The registration token is not a valid FCM registration token","#
                    + #""details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","#
                    + #""errorCode":"INVALID_ARGUMENT"}]}"#, true
            ),
            (
                #"{"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument.","details":["#
                    + #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":["#
                    + #"{"field":"message.token","description":"Invalid registration token"}]}]}"#, true
            ),
            (
                #"{"status":"INVALID_ARGUMENT","message":"Invalid data payload key: from","details":["#
                    + #"{"fieldViolations":[{"field":"message.data[0].key","description":"Invalid data payload key"}]}]}"#,
                false
            ),
            (
                #"{"status":"INVALID_ARGUMENT","message":"The registration token is not a valid FCM registration token","#
                    + #""details":[{"fieldViolations":[{"field":"message.android.ttl"}]}]}"#, false
            ),
            (#"{"status":"INVALID_ARGUMENT","message":"Android message is too big"}"#, false),
            (#"{"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument."}"#, false),
            (#"{"status":"INVALID_ARGUMENT"}"#, false), (#"{"status":"NOT_FOUND"}"#, false),
            (#"{"status":"PERMISSION_DENIED"}"#, false), (#"{"status":"THIRD_PARTY_AUTH_ERROR"}"#, false),
            (#"{"status":"QUOTA_EXCEEDED"}"#, false), (#"{}"#, false), ("null", false),
        ])
    func refusals(_ error: String, _ isOfDevice: Bool) throws {
        let refusal = try JSONDecoder().decode(FCMRefusal.self, from: Data(#"{"error":\#(error)}"#.utf8))
        #expect(refusal.isOfDevice == isOfDevice)
    }
}
