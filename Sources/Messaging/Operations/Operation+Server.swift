internal import FoundationEssentials

extension Operation {
    /// `server.*`: what anybody may ask of the server itself.
    static let server = [
        Operation("server.info", .anyone) { session, _ throws(ProtocolError) in
            let time = JSONObject.Member(name: "time", value: .string(Timestamp.text(.now)))
            return Answer(.object(JSONObject(session.service.info.object.members + [time])))
        }
    ]
}
