import FoundationEssentials
import Foundations
import WireProtocol

extension Operation {
    /// The methods `server.*`.
    static let server = [info]

    private static let info = Operation(
        "server.info", .anyone, "Returns the description of the server and its time.",
        result: .object([
            ("server", .string), ("version", .string), ("protocol", .integer), ("max_line_bytes", .integer),
            ("max_in_flight", .integer), ("ping_seconds", .integer), ("features", .array(of: .string)),
            ("contact", .string.nullable), ("time", .timestamp),
        ])
    ) { session, _ throws(ProtocolError) in
        let time = JSONObject.Member(name: "time", value: .string(Timestamp.text(.now)))
        return Answer(.object(JSONObject(session.service.info.object.members + [time])))
    }
}
