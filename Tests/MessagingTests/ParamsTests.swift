import TestSupport
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Params")
struct ParamsTests {
    /// Returns the error of `me.update` for these params.
    private func refusal(_ params: JSONObject, of method: String = "me.update") throws -> ProtocolError? {
        let operation = try Operation.named(method)
        do {
            try Params(params, of: operation).check()
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "suggests the canonical name for another spelling",
        arguments: [
            ("phone", "phone_number"), ("phoneNumber", "phone_number"), ("displayName", "full_name"),
            ("name", "full_name"), ("preferredLanguage", "language_code"), ("language", "language_code"),
            ("birthdate", "date_of_birth"), ("birthday", "date_of_birth"), ("fullName", "full_name"),
            ("dateOfBirth", "date_of_birth"), ("ifVersion", "if_version"), ("wesbite", "website"),
        ])
    func suggestion(spelling: String, canonical: String) throws {
        let error = try #require(try refusal(JSONObject([.init(name: spelling, value: .string("x"))])))
        #expect(error.code == .invalidParams)
        #expect(error["field"] == .string(spelling))
        #expect(error["suggestion"] == .string(canonical))
    }

    /// The names that apps use for the protocol's params.
    static let spellings: [(spelling: String, canonical: String)] = [
        ("phone", "phone_number"), ("phoneNumber", "phone_number"), ("PhoneNumber", "phone_number"),
        ("displayName", "full_name"), ("display_name", "full_name"), ("name", "full_name"), ("fullName", "full_name"),
        ("firstName", "full_name"), ("lastName", "full_name"), ("first_name", "full_name"), ("last_name", "full_name"),
        ("photoURL", "avatar_url"), ("photo_url", "avatar_url"), ("profilePicture", "avatar_url"),
        ("profile_picture", "avatar_url"), ("profilePictureUrl", "avatar_url"), ("profile_picture_url", "avatar_url"),
        ("imageUrl", "avatar_url"), ("profileImage", "avatar_url"), ("avatarUrl", "avatar_url"),
        ("avatarType", "avatar_type"), ("avatarId", "avatar_id"), ("avatarID", "avatar_id"),
        ("preferredLanguage", "language_code"), ("language", "language_code"), ("languageCode", "language_code"),
        ("birthdate", "date_of_birth"), ("birthday", "date_of_birth"), ("dateOfBirth", "date_of_birth"),
        ("preferredUnitSystem", "preferred_unit_system"), ("biologicalSex", "biological_sex"),
        ("heightCm", "height_cm"), ("height", "height_cm"), ("newUsername", "username"), ("userName", "username"),
        ("refreshToken", "refresh_token"), ("accessToken", "access_token"), ("jwt_token", "access_token"),
        ("token", "access_token"), ("userId", "user_id"), ("convId", "conversation_id"),
        ("conversationId", "conversation_id"), ("text", "content"), ("last_message", "content"),
        ("participants", "member_ids"),
    ]

    @Test("requires a host name in an email address")
    func emailHosts() throws {
        func check(_ email: String) throws -> ProtocolError? {
            try refusal(["email": .string(email), "password": .string("a password")], of: "auth.upgrade")
        }
        let long = String(repeating: "x", count: 63)
        for email in ["a@x-.de", "a@-x.de", "a@\(long)x.de", "a@x.1", "a@1.2.3.4", "a@x..de", "a@x.", "a@x"] {
            #expect(try check(email)?["field"] == .string("email"), "\(email)")
        }
        for email in ["a@x-y.de", "a@x--y.de", "a@1.de", "a@\(long).de", "a@x.1y", "a@b\u{fc}cher.example"] {
            #expect(try check(email) == nil, "\(email)")
        }
    }

    @Test(
        "suggests the canonical name for app spellings, in each method",
        .covers("B14", "B15", "B36", "B37"))
    func everySpelling() throws {
        for (spelling, canonical) in Self.spellings {
            let methods = Operation.all.filter { $0.parameters.contains(canonical) }
            #expect(!methods.isEmpty, "\(canonical)")
            for operation in methods {
                let error = try #require(
                    try refusal(JSONObject([.init(name: spelling, value: .string("x"))]), of: operation.method))
                #expect(error["field"] == .string(spelling))
                #expect(error["suggestion"] == .string(canonical), "\(operation.method) \(spelling)")
                #expect(error["method"] == nil)
                #expect(
                    error.message
                        == "\"\(operation.method)\" takes no \"\(spelling)\": did you mean \"\(canonical)\"?")
            }
        }
    }

    @Test("suggests the method that sets a field of the user's data")
    func otherMethod() throws {
        let own = Set([
            "full_name", "avatar_url", "avatar_type", "avatar_id", "biological_sex", "height_cm", "username",
        ])
        let names = Self.spellings.filter { own.contains($0.canonical) } + own.map { ($0, $0) }
        for (spelling, canonical) in names {
            for operation in Operation.me + Operation.auth where !operation.parameters.contains(canonical) {
                let error = try #require(
                    try refusal(JSONObject([.init(name: spelling, value: .string("x"))]), of: operation.method))
                if let parent = operation.objects.first(where: { operation.names(in: $0).contains(canonical) }) {
                    #expect(error["suggestion"] == .string("\(parent).\(canonical)"), "\(operation.method) \(spelling)")
                    #expect(error["method"] == nil)
                    continue
                }
                // Sign-in is by email address.
                if spelling.lowercased() == "username", operation.parameters.contains("email") {
                    #expect(error["suggestion"] == .string("email"), "\(operation.method)")
                    #expect(error["method"] == nil)
                    continue
                }
                #expect(error["suggestion"] == .string(canonical), "\(operation.method) \(spelling)")
                guard case .string(let method)? = error["method"] else {
                    Issue.record("\(operation.method) \(spelling) names no method")
                    continue
                }
                #expect(try Operation.named(method).parameters.contains(canonical))
                #expect(error.message.hasSuffix("did you mean \"\(canonical)\" of \"\(method)\"?"))
            }
        }
        let photo = try #require(try refusal(["photoURL": .string("https://a.example.com/b.png")]))
        #expect(photo["method"] == .string("me.set_avatar"))
    }

    @Test(
        "suggests paths for members of objects",
        arguments: [
            ("avatar", "avatarType", "avatar.avatar_type"), ("avatar", "type", "avatar.avatar_type"),
            ("avatar", "id", "avatar.avatar_id"), ("avatar", "url", "avatar.avatar_url"),
            ("avatar", "photoURL", "avatar.avatar_url"), ("avatar", "profile_picture", "avatar.avatar_url"),
            ("avatar", "avatar_ulr", "avatar.avatar_url"), ("avatar", "heightCm", "physical.height_cm"),
            ("avatar", "displayName", "full_name"), ("physical", "birthday", "physical.date_of_birth"),
            ("physical", "height", "physical.height_cm"), ("physical", "gender", "physical.biological_sex"),
            ("physical", "profilePictureUrl", "avatar.avatar_url"), ("physical", "phoneNumber", "phone_number"),
            ("physical", "userName", "username"),
        ])
    func members(parent: String, spelling: String, meant: String) throws {
        let fields = JSON.object(JSONObject([.init(name: spelling, value: .string("x"))]))
        let error = try #require(try refusal(JSONObject([.init(name: parent, value: fields)]), of: "me.save"))
        #expect(error.code == .invalidParams)
        #expect(error["field"] == .string("\(parent).\(spelling)"))
        #expect(error["suggestion"] == .string(meant))
        #expect(error["method"] == nil)
        #expect(error.message == "\"me.save\" takes no \"\(parent).\(spelling)\": did you mean \"\(meant)\"?")
    }

    @Test("rejects unknown and duplicate members with their path")
    func unknownMembers() throws {
        let unknown = try #require(try refusal(["avatar": .object(["picture_id": .null])], of: "me.save"))
        #expect(unknown["field"] == .string("avatar.picture_id") && unknown["suggestion"] == nil)
        #expect(
            unknown.message
                == #""me.save" takes no "avatar.picture_id". It takes "avatar.avatar_type", "avatar.avatar_id", "avatar.avatar_url", "avatar.media_id"."#
        )
        let sex = JSONObject.Member(name: "biological_sex", value: .null)
        let twice = try #require(try refusal(["physical": .object(JSONObject([sex, sex]))], of: "me.save"))
        #expect(twice["field"] == .string("physical.biological_sex"))
    }

    @Test("rejects unknown params and lists the known ones")
    func unknown() throws {
        let error = try #require(try refusal(["zzz": .null]))
        #expect(error["field"] == .string("zzz") && error["suggestion"] == nil)
        #expect(error.message.hasPrefix("\"me.update\" takes no \"zzz\". It takes \"full_name\", \"bio\", "))
        let long = String(repeating: "e\u{301}", count: 10_000)
        let refusal = try #require(try refusal(JSONObject([.init(name: long, value: .null)])))
        #expect(refusal.message.utf8.count < 400)
    }

    @Test("rejects duplicates")
    func twice() throws {
        let object = JSONObject([.init(name: "bio", value: .string("a")), .init(name: "bio", value: .string("b"))])
        #expect(try refusal(object)?["field"] == .string("bio"))
    }

    @Test(
        "rejects a NUL anywhere",
        arguments: [
            JSON.string("a\u{0}b"), .array([.string("\u{0}")]), .object(["x": .object(["\u{0}": .null])]),
        ])
    func nul(value: JSON) throws {
        let error = try #require(try refusal(["preferences": value]))
        #expect(error.code == .invalidParams && error["field"] == .string("preferences"))
    }

    @Test(
        "rejects wrong types and values out of range by name",
        arguments: [
            JSON.string("7"), .bool(true), .number(JSONNumber(checked: "1.5")),
            .number(JSONNumber(checked: "1e131071")),
            .number(JSONNumber(checked: "9223372036854775808")), .integer(0), .integer(101), .array([]),
        ])
    func integers(value: JSON) throws {
        let params = try Params(["limit": value], of: Operation.named("conversations.list"))
        let error = #expect(throws: ProtocolError.self) { try params.check() }
        #expect(error?["field"] == .string("limit"))
    }

    @Test("accepts integers in any notation", arguments: [("20.0", 20), ("2e1", 20), ("-0", 0)])
    func integerForms(text: String, value: Int64) throws {
        let params = try Params(
            ["messages_per_conversation": .number(JSONNumber(checked: text))], of: Operation.named("sync.open"))
        try params.check()
        #expect(params.integer("messages_per_conversation") == value)
    }
}

@Suite("Method suggestions")
struct MethodNameTests {
    @Test(
        "suggests a similar name",
        arguments: [
            ("message.send", "messages.send"), ("conversations.lst", "conversations.list"), ("Me.Get", "me.get"),
        ])
    func near(name: String, suggestion: String) {
        let error = #expect(throws: ProtocolError.self) { try Operation.named(name) }
        #expect(error?.code == .unknownMethod && error?["suggestion"] == .string(suggestion))
    }

    @Test(
        "suggests the method for a synonym",
        arguments: [
            ("messages.create", "messages.send"), ("messages.get", "messages.list"),
            ("messages.remove", "messages.delete"),
            ("conversations.create", "conversations.open"), ("auth.signIn", "auth.login"),
            ("me.patch", "me.update"),
        ])
    func meant(name: String, suggestion: String) {
        let error = #expect(throws: ProtocolError.self) { try Operation.named(name) }
        #expect(error?["suggestion"] == .string(suggestion))
    }

    @Test(
        "suggests nothing for a dissimilar name",
        arguments: ["", "x", "rpc.discover", String(repeating: "a", count: 10_000)])
    func far(name: String) {
        let error = #expect(throws: ProtocolError.self) { try Operation.named(name) }
        #expect(error?.code == .unknownMethod && error?["suggestion"] == nil)
    }
}

extension ProtocolError {
    subscript(name: String) -> JSON? { JSONObject(data)[name] }
}
