import NIOCore
import SchemaValidation
import Testing

@testable import Messaging

@Suite("The OpenAPI document")
struct OpenAPIDocumentTests {
    private let api: SchemaValidator

    init() throws {
        api = SchemaValidator(try JSON(parsing: OpenAPIDocument.text(version: "1.2.3")))
    }

    private func names(_ path: String...) -> [String] {
        let element = path.reduce(api.document as JSON?) { element, name in
            guard case .object(let object)? = element else { return nil }
            return object[name]
        }
        guard case .object(let object)? = element else { return [] }
        return object.members.map(\.name)
    }

    @Test("has each method at a path of its own, and those paths that it is given")
    func paths() throws {
        #expect(names("paths") == Operation.all.map { "/v1/\($0.method)" })
        #expect(api.element("info", "version") == .string("1.2.3"))
        let more = try JSON(
            parsing: OpenAPIDocument.text(version: "1", adding: ["/v1/line": .object(["get": .object([:])])]))
        #expect(SchemaValidator(more).element("paths", "/v1/line", "get") == .object([:]))
        #expect(api.document.duplicate == nil)
    }

    @Test("asks for a token where the method is a user's, and for none where it is anybody's")
    func security() {
        for operation in Operation.all {
            let bearer = JSON.array([.object(["bearer": .array([])])])
            #expect(
                api.element("paths", "/v1/\(operation.method)", "post", "security")
                    == (operation.access == .user ? bearer : .array([])), "\(operation.method)")
        }
    }

    @Test("says of each method which of its params must be there, and lets no other be")
    func params() throws {
        for operation in Operation.all {
            let schema = try #require(api.request(of: operation.method))
            let named = names(
                "paths", "/v1/\(operation.method)", "post", "requestBody", "content", "application/json", "schema",
                "properties")
            #expect(named == operation.parameters.names)
            let flaws = api.flaws(of: .object(["no_such_param": .null]), against: schema)
            #expect(flaws.contains("$: no_such_param is not declared"), "\(operation.method)")
            let mustBeThere = !api.flaws(of: .object([:]), against: schema).isEmpty
            #expect(
                api.element("paths", "/v1/\(operation.method)", "post", "requestBody", "required")
                    == .bool(mustBeThere), "\(operation.method)")
        }
    }

    @Test("has a response for the status of every error, and each method refers to those that it may have")
    func errors() {
        let all = Set(ErrorCode.allCases.map { "Error\($0.httpStatus)" })
        #expect(Set(names("components", "responses")) == all)
        for operation in Operation.all {
            let statuses = names("paths", "/v1/\(operation.method)", "post", "responses")
            #expect(Set(statuses).isSuperset(of: ["200", "400", "401", "413", "429", "500", "503", "504"]))
            #expect(Set(statuses.dropFirst().map { "Error\($0)" }).isSubset(of: all))
            for code in operation.errors { #expect(statuses.contains("\(code.httpStatus)"), "\(operation.method)") }
        }
        #expect(names("components", "responses", "Error401", "headers") == ["WWW-Authenticate"])
        #expect(names("components", "responses", "Error429", "headers") == ["Retry-After"])
    }

    @Test("refers to nothing that it has not")
    func references() {
        for text in Self.references(in: api.document) {
            let place = text.split(separator: "/").dropFirst().reduce(api.document as JSON?) { element, name in
                guard case .object(let object)? = element else { return nil }
                return object[String(name)]
            }
            #expect(place != nil, "\(text)")
        }
    }

    @Test("holds that a request has one of two params that exclude each other")
    func alternatives() throws {
        let id = JSON.string(ID.random().description)
        let get = try #require(api.request(of: "profiles.get"))
        for (params, isGood): (JSONObject, Bool) in [
            ([:], false), (["ids": .array([id])], true), (["username": .string("x")], true),
            (["ids": .array([id]), "username": .null], true), (["ids": .array([id]), "username": .string("x")], false),
        ] {
            #expect(api.flaws(of: .object(params), against: get).isEmpty == isGood, "\(params.text)")
        }
        let list = try #require(api.request(of: "messages.list"))
        for (params, isGood): (JSONObject, Bool) in [
            (["conversation_id": id], true), (["conversation_id": id, "before_seq": .integer(5)], true),
            (["conversation_id": id, "before_seq": .integer(5), "after_seq": .null], true),
            (["conversation_id": id, "before_seq": .integer(5), "after_seq": .integer(1)], false),
        ] {
            #expect(api.flaws(of: .object(params), against: list).isEmpty == isGood, "\(params.text)")
        }
    }

    @Test("takes a client's own id of a message as a header too")
    func idempotency() {
        let header = api.element("paths", "/v1/messages.send", "post", "parameters")
        #expect(header?.text.contains(#""name":"Idempotency-Key","in":"header""#) == true)
        #expect(api.element("paths", "/v1/messages.edit", "post", "parameters") == nil)
    }

    private static func references(in value: JSON) -> [String] {
        switch value {
        case .null, .bool, .number, .string: []
        case .array(let elements): elements.flatMap { references(in: $0) }
        case .object(let object):
            object.members.flatMap { member -> [String] in
                if member.name == "$ref", case .string(let text) = member.value { return [text] }
                return references(in: member.value)
            }
        }
    }
}
