@testable import Foundations
import NIOCore
import SchemaValidation
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Parameter declarations")
struct DeclarationTests {
    /// Every param and member of a param, with its method.
    private static let all = Operation.all.flatMap { operation in
        nested(in: operation.parameters).map { (operation.method, $0) }
    }

    private static func nested(in parameters: [Parameter]) -> [Parameter] {
        parameters.flatMap { parameter -> [Parameter] in
            switch parameter.type {
            case .fields(let members), .object(_, let members), .objects(_, let members):
                [parameter] + nested(in: members)
            default: [parameter]
            }
        }
    }

    private static func refusal(_ params: JSONObject, of operation: Messaging.Operation) -> ProtocolError? {
        do {
            try Params(params, of: operation).check()
            return nil
        } catch {
            return error
        }
    }

    @Test("have a valid name, unique in the method, and a description")
    func sentences() {
        for (method, parameter) in Self.all {
            #expect(parameter.name.wholeMatch(of: /[a-z][a-z_]*/) != nil, "\(method) \(parameter.name)")
            let summary = parameter.summary
            #expect(summary.first?.isUppercase == true && summary.last == ".", "\(method) “\(summary)”")
        }
        for operation in Operation.all {
            #expect(Set(operation.parameters.names).count == operation.parameters.count, "\(operation.method)")
            #expect(operation.summary.last == ".", "\(operation.method) “\(operation.summary)”")
        }
    }

    @Test("have valid defaults, and only if optional")
    func defaults() {
        for (method, parameter) in Self.all {
            guard let standard = parameter.defaultValue else { continue }
            #expect(!parameter.isRequired, "\(method) \(parameter.name)")
            #expect(throws: Never.self) {
                try parameter.check(in: JSONObject([.init(name: parameter.name, value: standard)]), path: "")
            }
        }
    }

    @Test("refer to other params of the same method")
    func others() {
        for operation in Operation.all {
            if let alternatives = operation.alternatives {
                for name in [alternatives.first, alternatives.second] {
                    #expect(operation.parameters.contains(name), "\(operation.method) \(name)")
                }
            }
            for exemption in operation.parameters.flatMap(\.exemptions) {
                #expect(operation.parameters.contains(exemption.parameter), "\(operation.method)")
            }
        }
    }

    private static let numbers = [
        "0", "1", "-1", "30", "100", "101", "201", "300", "301", "20.0", "1.5", "1e400", "9223372036854775807",
    ]

    private static let texts = [
        "", "x", "😀😀", "a@b.c", "a@b", "owner", "text", "image", "system", "2000-01-01", "https://a.example.com/",
        "http://a.example.com/", "A11CE000-0000-4000-8000-000000000001", "not a uuid",
    ]

    private static let others: [JSON] = [
        .null, .bool(true), .bool(false), .array([]), .array([.string("x")]),
        .array([.string("A11CE000-0000-4000-8000-000000000001")]), .object([:]), .object(["x": .integer(1)]),
        .object(["x": .string(String(repeating: "x", count: 20_000))]),
    ]

    /// Values of every type, some at a bound.
    private static var samples: [JSON] {
        let long = [2, 8, 50, 51, 72, 73, 8_000, 8_001].map { String(repeating: "é", count: $0) }
        return others + numbers.map { .number(JSONNumber(checked: $0)) } + (texts + long).map { .string($0) }
    }

    @Test("accept no value that the OpenAPI schema rejects")
    func schemas() throws {
        let validator = SchemaValidator(try JSON(parsing: OpenAPIDocument.text(version: "test")))
        var (passed, refused) = (0, 0)
        for operation in Operation.all {
            let schema = try #require(validator.request(of: operation.method))
            for parameter in operation.parameters {
                // The database may reject more. OpenAPITests compares the schema with these rules.
                if case .string(_, validatedBy: .database) = parameter.type { continue }
                if case .object(_, let members) = parameter.type, !members.isEmpty { continue }
                let rest = Self.good(operation).filter { $0.name != parameter.name }
                for sample in Self.samples {
                    let params = JSONObject(rest + [.init(name: parameter.name, value: sample)])
                    if Self.refusal(params, of: operation) != nil { refused += 1; continue }
                    passed += 1
                    let flaws = validator.flaws(of: .object(params), against: schema)
                    #expect(flaws.isEmpty, "\(operation.method) \(params.text.prefix(200)): \(flaws)")
                }
            }
        }
        #expect(passed > 100 && refused > 1_000, "\(passed) \(refused)")
    }

    @Test("reject a missing or null required param by name")
    func required() {
        for operation in Operation.all {
            let good = Self.good(operation)
            #expect(Self.refusal(JSONObject(good), of: operation) == nil, "\(operation.method)")
            for parameter in operation.parameters where parameter.isRequired {
                let rest = good.filter { $0.name != parameter.name }
                let error = Self.refusal(JSONObject(rest), of: operation)
                #expect(error?.code == .invalidParams)
                #expect(error?["field"] == .string(parameter.name), "\(operation.method) \(parameter.name)")
                guard !parameter.acceptsNull else { continue }
                let null = rest + [.init(name: parameter.name, value: .null)]
                #expect(
                    Self.refusal(JSONObject(null), of: operation)?["field"] == .string(parameter.name),
                    "\(operation.method) \(parameter.name)")
            }
        }
    }

    @Test("allow an image without content, but no text")
    func exemption() throws {
        let send = try Operation.named("messages.send")
        let room = JSONObject.Member(name: "conversation_id", value: .string(ID.random().description))
        let image = JSONObject.Member(name: "kind", value: .string("image"))
        let empty = JSONObject.Member(name: "content", value: .string(""))
        #expect(Self.refusal(JSONObject([room, image]), of: send) == nil)
        #expect(Self.refusal(JSONObject([room, image, empty]), of: send) == nil)
        #expect(Self.refusal(JSONObject([room]), of: send)?.message == #""content" is missing."#)
        #expect(
            Self.refusal(JSONObject([room, empty]), of: send)?.message
                == #""content" must be 1 to 8000 characters long."#)
    }

    @Test("apply the default to an absent or null param")
    func standards() throws {
        let open = try Operation.named("sync.open")
        for params: JSONObject in [[:], ["live": .null, "messages_per_conversation": .null]] {
            let params = try Params(params, of: open)
            #expect(params.integer("messages_per_conversation") == 20 && params.bool("live"))
        }
        #expect(try !Params(["live": .bool(false)], of: open).bool("live"))
    }

    /// Returns a valid value of each required param.
    private static func good(_ operation: Messaging.Operation) -> [JSONObject.Member] {
        let id = ID.random().description
        var members = operation.parameters.filter(\.isRequired).map { parameter in
            let value: JSON =
                switch parameter.type {
                case .string(.email, _): .string("a@b.example.com")
                case .string(.choice(let choices), _): .string(choices[0])
                case .string(.timestamp, _): .string("2030-01-01T00:00:00Z")
                case .string: .string("long_enough")
                case .integer(let limits): .integer(limits.lowerBound)
                case .number(let limits): .integer(Int(limits.lowerBound))
                case .bool: .bool(true)
                case .uuid: .string(id)
                case .uuids: .array([.string(id)])
                case .object, .fields: .object([:])
                case .objects: .array([.object([:])])
                }
            return JSONObject.Member(name: parameter.name, value: value)
        }
        if let alternatives = operation.alternatives, alternatives.isRequired {
            let isOne = operation.parameters.contains { $0.name == alternatives.first && $0.isUUID }
            members.append(.init(name: alternatives.first, value: isOne ? .string(id) : .array([.string(id)])))
        }
        return members
    }
}

extension Messaging.Parameter {
    fileprivate var isUUID: Bool { if case .uuid = type { true } else { false } }
}
