package import Messaging
package import NIOCore
package import WireProtocol

/// The JSON-RPC 2.0 envelope of one line (`docs/protocol.md`, section 1).
package enum Envelope: Equatable {
    /// One request, or the error of an invalid line.
    case single(Item)

    /// 1 to 50 requests, answered by one array.
    case batch([Item])

    /// The maximum number of requests in a batch.
    package static let maxBatchCount = 50

    /// A request, or the error of an invalid one.
    package struct Item: Equatable {
        /// The id of the response: a string, an integer or null, as sent. It is nil for a notification, which gets no
        /// response, not even an error.
        package var id: JSON?

        package var content: Result<Request, ProtocolError>
    }

    /// Parses a line. Invalid input becomes an item with an error.
    package init(_ line: ByteBuffer) {
        let value: JSON
        do {
            value = try JSON(parsingRequest: line)
        } catch {
            let refusal = line.isRequestOfHTTP ? ProtocolError.http : ProtocolError(error)
            self = .single(Item(id: .null, content: .failure(refusal)))
            return
        }
        guard case .array(let elements) = value else {
            self = .single(Item(value))
            return
        }
        if elements.isEmpty {
            self = .single(Item(invalid: "A batch holds at least one request."))
        } else if elements.count > Self.maxBatchCount {
            self = .single(
                Item(invalid: "A batch holds at most \(Self.maxBatchCount) requests; none of these was done."))
        } else {
            self = .batch(elements.map(Item.init(_:)))
        }
    }

    /// Returns the envelope with this error in place of each request.
    package func refused(by error: ProtocolError) -> Envelope {
        switch self {
        case .single(let item): .single(Item(id: item.id, content: .failure(error)))
        case .batch(let items): .batch(items.map { Item(id: $0.id, content: .failure(error)) })
        }
    }
}

extension Envelope.Item {
    /// Creates an `invalid_request` error, with the id if it was readable.
    fileprivate init(invalid message: String, id: JSON = .null) {
        self.init(id: id, content: .failure(ProtocolError(.invalidRequest, message)))
    }

    fileprivate init(_ value: JSON) {
        guard case .object(let envelope) = value else {
            self.init(invalid: "A request is a JSON object.")
            return
        }
        let duplicate = envelope.duplicate
        let sentID = envelope["id"]
        // Two ids are ambiguous.
        let isLegible = Self.isLegible(sentID) && envelope.members.count { $0.name.hasSameCodePoints(as: "id") } <= 1
        let id: JSON = isLegible ? sentID ?? .null : .null

        // Must precede every comparison that normalizes.
        guard !envelope.hasLongCombiningRun else {
            let params = envelope.members.first { $0.name.hasSameCodePoints(as: "params") }?.value
            self.init(id: isLegible ? sentID : .null, content: .failure(.longCombiningRun(in: params)))
            return
        }
        if let duplicate {
            self.init(invalid: "The member \(duplicate.jsonQuoted) stands twice.", id: id)
            return
        }
        for member in envelope.members {
            switch member.name {
            case "jsonrpc", "method", "params", "id": continue
            default:
                self.init(invalid: "A request has no member \(member.name.jsonQuoted).", id: id)
                return
            }
        }
        guard envelope["jsonrpc"] == .string("2.0") else {
            self.init(invalid: "The member \"jsonrpc\" must be \"2.0\".", id: id)
            return
        }
        guard isLegible else {
            self.init(invalid: "An id is a string, an integer of at most 64 bits, or null.")
            return
        }
        guard case .string(let method)? = envelope["method"] else {
            self.init(invalid: "The member \"method\" must be a string.", id: id)
            return
        }
        switch envelope["params"] {
        case nil:
            self.init(id: sentID, content: .success(Request(method: method, params: JSONObject())))
        case .object(let params)?:
            self.init(id: sentID, content: .success(Request(method: method, params: params)))
        case .array(let positions)?:
            let request = Request(method: method, params: JSONObject())
            if positions.isEmpty {
                self.init(id: sentID, content: .success(request))
            } else {
                let error = ProtocolError(.invalidParams, "Params are named here: send an object, not an array.")
                self.init(id: sentID, content: .failure(request.unknownMethod ?? error))
            }
        case .null?, .bool?, .number?, .string?:
            self.init(invalid: "The member \"params\" must be an object.", id: id)
        }
    }

    /// Returns true for a valid id, and for nil, which marks a notification. An integer must fit in 64 bits, since a
    /// client could not match a larger one.
    private static func isLegible(_ id: JSON?) -> Bool {
        switch id {
        case nil, .null?, .string?: true
        case .number(let number)?: number.integer != nil
        case .bool?, .array?, .object?: false
        }
    }
}

extension ProtocolError {
    /// - Parameter text: the name of the invalid text, for the message.
    package init(_ error: JSONError, in text: String = "line") {
        switch error {
        case .invalidUTF8:
            self.init(.invalidUTF8, "The \(text) is not UTF-8.")
        case .malformed(let offset, let reason):
            self.init(.parseError, "The \(text) is not JSON: at byte \(offset), \(reason).")
        case .tooDeep:
            self.init(.parseError, "The \(text) is nested too deep.")
        case .tooManyValues(let limit):
            self.init(.parseError, "The \(text) has more than \(limit) values.")
        }
    }
}
