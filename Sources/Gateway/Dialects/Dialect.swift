import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// The endpoints that documents of older apps print, each document's in its own names (`docs/http.md`).
enum Dialects {
    private static let endpoints =
        ProfileDialect.endpoints + UserDialect.endpoints + MessagesDialect.endpoints

    static let routes = endpoints.map { $0.route }

    /// The path items of all, for the OpenAPI document.
    static var paths: JSONObject {
        JSONObject(ProfileDialect.paths.members + UserDialect.paths.members + MessagesDialect.paths.members)
    }

    /// What the path items refer to beyond the protocol's objects.
    static let schemas = JSONObject(
        [.init(name: "DialectError", value: DialectEndpoint.errorSchema)] + ProfileDialect.schemas + UserDialect.schemas
    )
}

/// A field of a document, and what it is here.
struct DialectField: Sendable {
    /// The document's name for it.
    let name: String

    /// The member of our object that it shows.
    let ours: String

    /// Our param that it sets, with the path of one within another (`avatar.avatar_url`).
    let param: String

    /// What else the document's app calls it in a request.
    let spellings: [String]

    let use: Use
    let form: Form

    /// Whether it is nobody's but the user's own.
    let isPrivate: Bool

    enum Use: Sendable {
        case both
        /// Shown alone.
        case answer
        /// Taken alone.
        case request
    }

    enum Form: Sendable {
        case same
        /// A time with so many digits of a second's fraction, of our six.
        case time(digits: Int)
        /// The first name of a full name.
        case firstName
        /// The full name without the first name.
        case lastName
        /// In a request no text is as good as null.
        case emptyIsNull
        /// Digits in a query.
        case digits
    }

    /// - Parameter param: our param, where it is called otherwise than the member.
    init(
        _ name: String, _ ours: String, param: String? = nil, or spellings: [String] = [], _ use: Use = .both,
        as form: Form = .same, isPrivate: Bool = false
    ) {
        self.name = name
        self.ours = ours
        self.param = param ?? ours
        self.spellings = spellings
        self.use = use
        self.form = form
        self.isPrivate = isPrivate
    }

    /// One that is called the same here.
    init(_ name: String, _ use: Use = .both, as form: Form = .same, isPrivate: Bool = false) {
        self.init(name, name, use, as: form, isPrivate: isPrivate)
    }

    func isCalled(_ name: String) -> Bool { self.name == name || spellings.contains(name) }
}

/// The one table of names of a document's object.
struct DialectTable: Sendable {
    let fields: [DialectField]

    /// Our object in the document's names: all of them, null where it has nothing of the sort.
    func answer(_ object: JSONObject) -> JSONObject {
        JSONObject(
            fields.filter { $0.use != .request }.map { field in
                .init(name: field.name, value: field.form.answer(object[field.ours] ?? .null, of: object))
            })
    }
}

extension DialectField.Form {
    fileprivate func answer(_ value: JSON, of object: JSONObject) -> JSON {
        guard case .string(let text) = value else { return value }
        switch self {
        case .same, .emptyIsNull, .digits: return value
        case .time(let digits):
            // 2026-11-20T10:00:00.000000Z
            guard text.utf8.count == 27 else { return value }
            return .string(text.prefix(digits == 0 ? 19 : 20 + digits) + "Z")
        case .firstName: return .string(object.nameParts(of: text).first)
        case .lastName: return .string(object.nameParts(of: text).last)
        }
    }

    func param(_ value: JSON) -> JSON {
        guard case .string(let text) = value else { return value }
        switch self {
        case .emptyIsNull: return text.isEmpty ? .null : value
        case .digits: return Int64(text).map { .integer($0) } ?? value
        case .same, .time, .firstName, .lastName: return value
        }
    }
}

extension JSON {
    /// Whether both say the same, however numbers are written and members ordered.
    func saysTheSame(as other: JSON) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)):
            return left == right || left.double.map { $0 == right.double } ?? false
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.saysTheSame(as: $1) }
        case (.object(let left), .object(let right)):
            let known = right.byName
            return left.members.count == right.members.count
                && left.members.allSatisfy { known[$0.name]?.saysTheSame(as: $0.value) ?? false }
        default: return self == other
        }
    }
}

extension JSONObject {
    /// The parts of the full name of a profile: split where the profile says, else at the first blank.
    ///
    /// PostgreSQL counts code points, as unicode scalars are.
    fileprivate func nameParts(of name: String) -> (first: String, last: String) {
        let scalars = name.unicodeScalars
        let end =
            if case .number(let length)? = self["first_name_length"], let length = length.integer {
                scalars.index(scalars.startIndex, offsetBy: Int(clamping: length), limitedBy: scalars.endIndex)
                    ?? scalars.endIndex
            } else {
                scalars.firstIndex(of: " ") ?? scalars.endIndex
            }
        let rest = scalars[end...]
        return (String(scalars[..<end]), String(rest.first == " " ? rest.dropFirst() : rest))
    }

    /// Its values by their names, for where many are looked up.
    var byName: [String: JSON] {
        Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ErrorStyle {
    /// `{"success":false,"error":{code, message, field?}}`
    static let envelope = ErrorStyle { error in
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

extension HTTPAnswer {
    /// `{"success":true,"data":…}`
    static func enveloped(_ data: ByteBuffer) -> HTTPAnswer {
        var body = ByteBuffer()
        body.reserveCapacity(data.readableBytes + 32)
        body.writeStaticString(#"{"success":true,"data":"#)
        body.writeImmutableBuffer(data)
        body.writeStaticString("}")
        return .json(body)
    }
}

extension ProtocolError {
    /// `"phone" must be a string.`, naming a field of a document.
    static func refused(_ field: String, _ what: String) -> ProtocolError {
        let shown = field.utf8.count <= 64 ? field : String(field.unicodeScalars.prefix(60)) + "…"
        return ProtocolError(
            .invalidParams, "\"\(shown)\" \(what)", data: [.init(name: "field", value: .string(shown))])
    }

    /// The param that it is about, or the field.
    var field: String? {
        for member in data where member.name == "field" {
            if case .string(let field) = member.value { return field }
        }
        return nil
    }
}

extension Exchange {
    /// The result of a method.
    func object(_ method: String, _ params: JSONObject = [:]) async throws(ProtocolError) -> JSONObject {
        let result = try await call(method, params)
        guard case .object(let object)? = try? JSON(parsing: result, maximumDepth: 512) else {
            throw .fault("the result of \(method) cannot be read")
        }
        return object
    }

    /// The same request, which calls methods as compatibility endpoints do: results say how a name is split and which
    /// second names a version.
    var compatible: Exchange {
        var exchange = self
        exchange.isCompatible = true
        return exchange
    }

    /// The same request of nobody: what signs in or renews a session takes no notice of a token, which may have expired.
    var anonymous: Exchange {
        var headers = request.headers
        headers.remove(name: "Authorization")
        let request = HTTPRequest(
            method: request.method, target: request.target, version: request.version, headers: headers,
            body: request.body, peerAddress: request.peerAddress, id: request.id, isEncrypted: request.isEncrypted)
        return Exchange(
            request: request, captures: captures, conversation: conversation, clientAddress: clientAddress)
    }
}

extension JSONObject {
    /// The object as JSON text.
    var buffer: ByteBuffer {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return buffer
    }
}
