import NIOCore
import SchemaValidation
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("OpenAPI document")
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

    @Test("has a path for each method")
    func paths() throws {
        #expect(names("paths") == Operation.all.map { "/v1/\($0.method)" })
        #expect(api.element("info", "version") == .string("1.2.3"))
        let more = try JSON(
            parsing: OpenAPIDocument.text(version: "1", adding: ["/v1/line": .object(["get": .object([:])])]))
        #expect(SchemaValidator(more).element("paths", "/v1/line", "get") == .object([:]))
        #expect(api.document.duplicate == nil)
    }

    @Test("requires a token for methods of users only")
    func security() {
        for operation in Operation.all {
            let bearer = JSON.array([.object(["bearer": .array([])])])
            #expect(
                api.element("paths", "/v1/\(operation.method)", "post", "security")
                    == (operation.access == .user ? bearer : .array([])), "\(operation.method)")
        }
    }

    @Test("has the required params and no additional ones")
    func params() throws {
        for operation in Operation.all {
            let schema = try #require(api.request(of: operation.method))
            let named = names(
                "paths", "/v1/\(operation.method)", "post", "requestBody", "content", "application/json", "schema",
                "properties")
            #expect(named == operation.parameters.names)
            let flaws = api.flaws(of: .object(["no_such_param": .null]), against: schema)
            #expect(flaws.contains("$: no_such_param is not declared"), "\(operation.method)")
            let mustBeThere =
                !api.flaws(of: .object([:]), against: schema).isEmpty || operation.alternatives?.isRequired == true
                || operation.parameters.contains { $0.isRequired }
            #expect(
                api.element("paths", "/v1/\(operation.method)", "post", "requestBody", "required")
                    == .bool(mustBeThere), "\(operation.method)")
        }
    }

    @Test("has a response for each error of a method")
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

    @Test("has no dangling reference")
    func references() {
        for text in Self.references(in: api.document) {
            let place = text.split(separator: "/").dropFirst().reduce(api.document as JSON?) { element, name in
                guard case .object(let object)? = element else { return nil }
                return object[String(name)]
            }
            #expect(place != nil, "\(text)")
        }
    }

    @Test("describes mutually exclusive params")
    func alternatives() {
        func description(_ method: String) -> JSON? {
            guard case .object(let schema)? = api.request(of: method) else { return nil }
            return schema["description"]
        }
        #expect(description("profiles.get") == .string("Exactly one of \"ids\" and \"username\" is required."))
        #expect(description("messages.list") == .string("\"before_seq\" and \"after_seq\" are mutually exclusive."))
        #expect(description("me.get") == nil)
    }

    // F6
    @Test("avoids constructs that client generators reject")
    func constructs() {
        #expect(api.element("openapi") == .string("3.0.3"))
        #expect(Self.hazards(in: api.document, at: "").isEmpty)
    }

    /// Returns the constructs that common client generators reject, with their locations.
    private static func hazards(in value: JSON, at path: String) -> [String] {
        switch value {
        case .null, .bool, .number, .string: return []
        case .array(let elements): return elements.flatMap { hazards(in: $0, at: path) }
        case .object(let object):
            let isSchema = object["type"] != nil && !path.hasSuffix("/properties")
            var found: [String] = []
            if isSchema {
                if case .string? = object["type"] {} else { found.append("\(path): type") }
                if object["type"] == .string("null") { found.append("\(path): null") }
                if object["type"] == .string("array"), object["items"] == nil { found.append("\(path): items") }
                if object["nullable"] != nil, object["type"] == nil { found.append("\(path): nullable") }
                if object["required"] == .array([]) { found.append("\(path): required") }
            }
            if !path.hasSuffix("/properties") {
                found += ["const", "if", "else", "not"].filter { object[$0] != nil }.map { "\(path): \($0)" }
            }
            if case .string(let place)? = object["$ref"], place.split(separator: "/").count != 4 {
                found.append("\(path): \(place)")
            }
            return found + object.members.flatMap { hazards(in: $0.value, at: "\(path)/\($0.name)") }
        }
    }

    @Test("accepts an idempotency key as a header")
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
