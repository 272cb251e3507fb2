import ChangeFeed
import HTTPServing
import LineServer
import NIOCore
import NIOHTTP1
import WireProtocol

/// The compatibility endpoints: HTTP routes with the names and shapes of other backends (`docs/http.md`).
enum CompatibilityEndpoints {
    private static let endpoints =
        ProfileCompatibilityEndpoints.all + UserCompatibilityEndpoints.all + MessageCompatibilityEndpoints.all

    static let routes = endpoints.map { $0.route }

    /// The path items of all endpoints, for the OpenAPI document.
    static var paths: JSONObject {
        JSONObject(
            ProfileCompatibilityEndpoints.paths.members + UserCompatibilityEndpoints.paths.members
                + MessageCompatibilityEndpoints.paths.members)
    }

    /// The schemas that the path items refer to, besides the protocol's own.
    static let schemas = JSONObject(
        [.init(name: "CompatibilityError", value: CompatibilityEndpoint.errorSchema)]
            + ProfileCompatibilityEndpoints.schemas
            + UserCompatibilityEndpoints.schemas)
}

extension JSON {
    /// Returns true if both values are equal, regardless of number formats and the order of members.
    func isEquivalent(to other: JSON) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)):
            return left == right || left.double.map { $0 == right.double } ?? false
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.isEquivalent(to: $1) }
        case (.object(let left), .object(let right)):
            let known = right.byName
            return left.members.count == right.members.count
                && left.members.allSatisfy { known[$0.name]?.isEquivalent(to: $0.value) ?? false }
        default: return self == other
        }
    }
}

extension JSONObject {
    /// The values by name, for repeated lookups.
    var byName: [String: JSON] {
        Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The object as JSON text.
    var buffer: ByteBuffer {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return buffer
    }
}

extension ErrorFormat {
    /// `{"success":false,"error":{code, message, field?}}`
    static let envelope = ErrorFormat { error in
        let field = error.data.filter { $0.name == "field" }
        let object = JSONObject(
            [
                .init(name: "code", value: .string(error.code.rawValue)),
                .init(name: "message", value: .string(error.message)),
            ] + field)
        var body = ByteBuffer()
        (["success": .bool(false), "error": .object(object)] as JSONObject).write(to: &body)
        return body
    }
}

extension HTTPResponse {
    /// Returns a response with the body `{"success":true,"data":…}`.
    static func envelope(_ data: ByteBuffer) -> HTTPResponse {
        var body = ByteBuffer()
        body.reserveCapacity(data.readableBytes + 32)
        body.writeStaticString(#"{"success":true,"data":"#)
        body.writeImmutableBuffer(data)
        body.writeStaticString("}")
        return .json(body)
    }
}

extension ProtocolError {
    /// Returns an `invalid_params` error about a field, such as `"phone" must be a string.`
    static func invalidField(_ field: String, _ what: String) -> ProtocolError {
        let shown = field.utf8.count <= 64 ? field : String(field.unicodeScalars.prefix(60)) + "…"
        return ProtocolError(
            .invalidParams, "\"\(shown)\" \(what)", data: [.init(name: "field", value: .string(shown))])
    }

    /// The param or field that the error is about; nil if there is none.
    var field: String? {
        for member in data where member.name == "field" {
            if case .string(let field) = member.value { return field }
        }
        return nil
    }
}

extension RequestContext {
    /// Calls a method, and returns its result as an object.
    func callForObject(_ method: String, _ params: JSONObject = [:]) async throws(ProtocolError) -> JSONObject {
        let result = try await call(method, params)
        guard case .object(let object)? = try? JSON(parsing: result, maximumDepth: 512) else {
            throw .fault("the result of \(method) cannot be read")
        }
        return object
    }

    /// The context of the same request in which results also say how a name is split and which second names a version.
    var compatible: RequestContext {
        var context = self
        context.isCompatible = true
        return context
    }

    /// The context of the same request without its token, which may have expired when a client signs in or renews a
    /// session.
    var anonymous: RequestContext {
        var request = request
        request.headers.remove(name: "Authorization")
        return RequestContext(
            request: request, pathParameters: pathParameters, handler: handler, clientAddress: clientAddress)
    }
}
