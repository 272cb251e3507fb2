import Testing

@testable import Messaging

@Suite("Params")
struct ParamsTests {
    /// What `me.update` says of these params.
    private func refusal(_ params: JSONObject, of method: String = "me.update") throws -> ProtocolError? {
        let operation = try Operation.named(method)
        do {
            _ = try Params(params, of: operation)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "of another spelling are refused with the canonical one",
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

    @Test("that no method knows are refused by name, with those it takes")
    func unknown() throws {
        let error = try #require(try refusal(["zzz": .null]))
        #expect(error["field"] == .string("zzz") && error["suggestion"] == nil)
        #expect(error.message.contains("full_name"))
    }

    @Test("given twice are refused")
    func twice() throws {
        let object = JSONObject([.init(name: "bio", value: .string("a")), .init(name: "bio", value: .string("b"))])
        #expect(try refusal(object)?["field"] == .string("bio"))
    }

    @Test(
        "with a NUL anywhere are refused",
        arguments: [
            JSON.string("a\u{0}b"), .array([.string("\u{0}")]), .object(["x": .object(["\u{0}": .null])]),
        ])
    func nul(value: JSON) throws {
        let error = try #require(try refusal(["preferences": value]))
        #expect(error.code == .invalidParams && error["field"] == .string("preferences"))
    }

    @Test(
        "of the wrong type or out of range are refused by name",
        arguments: [
            JSON.string("7"), .bool(true), .number(JSONNumber(checked: "1.5")),
            .number(JSONNumber(checked: "1e131071")),
            .number(JSONNumber(checked: "9223372036854775808")), .integer(0), .integer(101), .array([]),
        ])
    func integers(value: JSON) throws {
        let params = try Params(["limit": value], of: Operation.named("conversations.list"))
        let error = #expect(throws: ProtocolError.self) { try params.integer("limit", in: 1...100) }
        #expect(error?["field"] == .string("limit"))
    }

    @Test("that are integers are taken however they are written", arguments: [("20.0", 20), ("2e1", 20), ("-0", 0)])
    func integerForms(text: String, value: Int64) throws {
        let params = try Params(
            ["limit": .number(JSONNumber(checked: text))], of: Operation.named("conversations.list"))
        #expect(try params.integer("limit", in: 0...100) == value)
    }
}

@Suite("A method's name")
struct MethodNameTests {
    @Test(
        "that is nearly one is refused with that one",
        arguments: [
            ("message.send", "messages.send"), ("conversations.lst", "conversations.list"), ("Me.Get", "me.get"),
        ])
    func near(name: String, suggestion: String) {
        let error = #expect(throws: ProtocolError.self) { try Operation.named(name) }
        #expect(error?.code == .unknownMethod && error?["suggestion"] == .string(suggestion))
    }

    @Test(
        "that is like none is refused without a suggestion",
        arguments: ["", "x", "rpc.discover", String(repeating: "a", count: 10_000)])
    func far(name: String) {
        let error = #expect(throws: ProtocolError.self) { try Operation.named(name) }
        #expect(error?.code == .unknownMethod && error?["suggestion"] == nil)
    }
}

extension ProtocolError {
    subscript(name: String) -> JSON? { JSONObject(data)[name] }
}
