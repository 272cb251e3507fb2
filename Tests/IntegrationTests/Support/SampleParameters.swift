import Foundations
@testable import WireProtocol
@testable import Messaging

/// Valid parameters of each method, for tests that loop over all methods.
///
/// It uses the code's list of methods, so that a new one is covered by itself or fails here.
enum SampleParameters {
    /// Every method.
    static var methods: [Messaging.Operation] { Messaging.Operation.all }

    /// Returns valid parameters for Alice, except those that exclude others.
    static func params(of method: Messaging.Operation) -> JSONObject? {
        var members: [JSONObject.Member] = []
        for name in method.parameters.names where !(excluded[method.method] ?? []).contains(name) {
            guard let value = values["\(method.method) \(name)"] ?? values[name] else { return nil }
            members.append(.init(name: name, value: value))
        }
        return JSONObject(members)
    }

    /// Returns the parameters that contain strings.
    static func stringParams(of method: Messaging.Operation) -> [String]? {
        var names: [String] = []
        for name in method.parameters.names {
            guard let value = values["\(method.method) \(name)"] ?? values[name] else { return nil }
            switch value {
            case .string: names.append(name)
            // A list and an object contain strings too.
            case .array, .object: names.append(name)
            case .null, .bool, .number: break
            }
        }
        return names
    }

    /// Returns valid parameters with another value for one, without those that it excludes.
    static func params(of method: Messaging.Operation, with name: String, _ value: JSON) -> JSONObject {
        var members = (params(of: method) ?? [:]).members.filter { $0.name != name }
        if let pair = excluding[method.method], pair.contains(name) { members.removeAll { pair.contains($0.name) } }
        members.append(.init(name: name, value: value))
        return JSONObject(members)
    }

    /// Returns valid parameters of a method, and once more with each parameter that the others exclude.
    static func variants(of method: Messaging.Operation) -> [JSONObject]? {
        guard let params = params(of: method) else { return nil }
        var variants = [params]
        for name in method.parameters.names where params[name] == nil {
            guard let value = value(of: name, in: method) else { return nil }
            variants.append(self.params(of: method, with: name, value))
        }
        return variants
    }

    /// Returns a valid value of a parameter.
    static func value(of name: String, in method: Messaging.Operation) -> JSON? {
        values["\(method.method) \(name)"] ?? values[name]
    }

    private static let excluding: [String: Set<String>] = [
        "profiles.get": ["ids", "username"], "messages.list": ["before_seq", "after_seq"],
        "me.set_avatar": ["avatar_id", "avatar_url", "media_id"],
        "messages.send": ["attachment", "attachments"], "messages.schedule": ["attachment", "attachments"],
        "reports.create": ["conversation_id", "user_id"],
    ]

    private static let excluded: [String: Set<String>] = [
        "profiles.get": ["username"], "messages.list": ["after_seq"], "me.update": ["if_version"],
        "me.update_physical": ["if_version"], "me.change_username": ["if_version"],
        "me.set_avatar": ["avatar_url", "media_id", "if_version"],
        "me.save": ["if_version"],
        "me.delete": ["identity_token", "nonce"],
        // Otherwise every send would be a repetition of the first.
        "reports.create": ["user_id"],
        "messages.send": ["client_id", "attachments"], "messages.schedule": ["client_id", "attachments"],
    ]

    private static let values: [String: JSON] = [
        "message_ttl_seconds": 86_400, "me.export after": "conversations",
        "access_token": "not.a.token", "email": "probe@example.com", "password": "postline-dev",
        "username": "probe_name", "guest_refresh_token": "not.a.token", "refresh_token": "not.a.token", "all": false,
        "identity_token": "not.a.token", "nonce": "x", "guest_access_token": "not.a.token",
        "current_password": "not-the-password", "new_password": "postline-dev", "biological_sex": "other",
        "height_cm": 170, "avatar_type": "built_in", "avatar_id": "fox", "avatar_url": "https://probe.example.com/a",
        "avatar": ["avatar_type": "built_in", "avatar_id": "fox"], "physical": ["height_cm": 170],
        // Wrong on purpose, so that the user still exists afterwards.
        "me.delete password": "not-the-password",
        "title": "Probe", "member_ids": [.string(Person.bob.id)], "user_ids": [.string(Person.bob.id)],
        "role": "member",
        "full_name": "Probe", "bio": "probe", "website": "https://probe.example.com", "location": "Here",
        "language_code": "en", "phone_number": "+4915112345678", "date_of_birth": "1990-01-01",
        "preferred_unit_system": "metric", "preferences": ["probe": "x"], "if_version": 1,
        "profiles": true, "ids": [.string(Person.bob.id)], "profiles.get username": "bob", "query": "bob", "limit": 10,
        "user_id": .string(Person.bob.id), "conversation_id": .string(Room.aliceBob), "before": "1.\(Room.aliceBob)",
        "content": "probe", "client_id": "12345678-1234-4234-8234-123456789abc", "kind": "image",
        "attachment": ["url": "https://probe.example.com/a.png", "mime_type": "image/png"],
        "attachments": [["url": "https://probe.example.com/a.png", "mime_type": "image/png"]], "name": "a.png",
        "before_seq": 10, "after_seq": 1, "seq": 1, "cursor": "x", "messages_per_conversation": 1, "live": false,
        "state": "active", "is_typing": true, "until": "2030-01-01T00:00:00Z",
        "platform": "apns", "token": "a11ce0", "environment": "sandbox", "locale": "en",
        "id": "12345678-1234-4234-8234-123456789abc", "media_id": "12345678-1234-4234-8234-123456789abc",
        "reply_to_seq": 1, "mentions": [.string(Person.bob.id)], "mentions_everyone": false, "data": ["probe": "x"],
        "emoji": "👍", "is_set": true, "start": 0, "is_streaming": false, "after": "1.\(Room.aliceBob).👍",
        "is_pinned": true, "is_marked_unread": true, "sender_id": .string(Person.bob.id),
        "is_archived": true, "purpose": "message", "mime_type": "image/png", "bytes": 1_000, "width": 10, "height": 10,
        "due_at": .string(Timestamp.after(seconds: 86_400)), "messages.scheduled after": "1.\(Room.aliceBob)",
        "reason": "spam", "comment": "probe", "outcome": "dismissed", "reports.list state": "open",
        "reports.list after": "1.\(Room.aliceBob)",
    ]
}
