import Foundations
import LineClient
import Outbox
import WireProtocol

/// The random actions of a device, which records what was acknowledged.
struct Workload: Sendable {
    enum Action {
        case send, sendTwice, sendAgain, edit, delete, markRead, rename, changeAvatar, retitle
        case add, remove, leave, promote, openDirect, comeBack, react, pin, set, schedule, stream, block, unblock
    }

    static let actions: [(weight: Int, choice: Action)] = [
        (50, .send), (4, .sendTwice), (4, .sendAgain), (8, .edit), (3, .delete), (10, .markRead), (5, .rename),
        (2, .changeAvatar), (2, .retitle), (5, .add), (3, .remove), (1, .leave), (2, .promote), (2, .openDirect),
        (2, .comeBack), (8, .react), (2, .pin), (2, .set), (4, .schedule), (4, .stream),
        (2, .block), (3, .unblock),
    ]

    let device: Device
    let users: [String]
    let groups: [String]
    let writeLog: WriteLog
    var random: SeededRandom
    private var number = 0
    private var lastSent: (params: JSONObject, clientID: String)?

    /// The last messages that it sent.
    private var mine: [(room: String, seq: Int)] = []

    init(_ device: Device, users: [String], groups: [String], _ writeLog: WriteLog, _ random: SeededRandom) {
        self.device = device
        self.users = users
        self.groups = groups
        self.writeLog = writeLog
        self.random = random
    }

    /// Acts until the round ends.
    mutating func work() async {
        while await !writeLog.isQuiet {
            let action = random.choose(Self.actions)
            do {
                try await perform(action)
            } catch let error as RemoteError where Self.isToBeExpected(error) {
                await writeLog.record(refusal: "\(action), \(error.code)")
            } catch {
                await device.recordViolation("\(error)")
            }
        }
    }

    /// True for errors that are expected after a removal, a lost role or a race.
    private static func isToBeExpected(_ error: RemoteError) -> Bool {
        switch error.knownCode {
        case .notFound, .forbidden: true
        default: false
        }
    }

    private mutating func perform(_ action: Action) async throws {
        let model = await device.model
        let rooms = model.rooms.keys.sorted()
        // Sometimes a group in which it may not be a member.
        let room = random.chance(5) ? groups.randomElement(using: &random) : rooms.randomElement(using: &random)
        guard let room = action == .openDirect || action == .comeBack ? room ?? "" : room else {
            _ = try await openDirect()
            return
        }
        let user = users.randomElement(using: &random) ?? ""
        let newest = model.rooms[room]?.newest ?? 0
        number += 1
        switch action {
        case .send: try await send(to: room, answering: random.chance(20) && newest > 0 ? newest : nil)
        case .sendTwice: try await sendTwice(to: room)
        case .sendAgain: try await sendAgain()
        case .edit: try await change(in: room, newest, "messages.edit", ["content": .string(text)])
        case .delete: try await change(in: room, newest, "messages.delete", [:])
        case .markRead: try await markRead(room, newest)
        case .rename: try await rename()
        case .changeAvatar:
            let id = ["fox", "owl", "bee"].randomElement(using: &random) ?? "fox"
            _ = try await device.callWithRetry("me.set_avatar", ["avatar_type": "built_in", "avatar_id": .string(id)])
            await writeLog.record("avatars changed")
        case .retitle:
            let answer = try await device.callWithRetry(
                "conversations.update", ["conversation_id": .string(room), "title": .string(text)])
            await writeLog.record(
                title: .init(version: answer.number("version"), text: answer.text("title")), of: room)
            await writeLog.record("titles changed")
        case .add:
            _ = try await device.callWithRetry(
                "conversations.add_members", ["conversation_id": .string(room), "user_ids": [.string(user)]])
            await writeLog.record("members added")
        case .remove, .leave:
            let gone = action == .leave ? device.user : user
            _ = try await device.callWithRetry(
                "conversations.remove_member", ["conversation_id": .string(room), "user_id": .string(gone)])
            await writeLog.record("members removed")
        case .promote:
            let role = random.chance(30) ? "owner" : random.chance(50) ? "admin" : "member"
            _ = try await device.callWithRetry(
                "conversations.set_role",
                ["conversation_id": .string(room), "user_id": .string(user), "role": .string(role)])
            await writeLog.record("roles changed")
        case .react:
            // Few messages, so that users react to the same ones, and take back what they have set.
            let (seq, emoji) = (max(1, newest - Int.random(in: 0..<4, using: &random)), random.chance(50) ? "ok" : "no")
            _ = try await device.callWithRetry(
                "messages.react",
                [
                    "conversation_id": .string(room), "seq": .integer(seq), "emoji": .string(emoji),
                    "is_set": .bool(random.chance(60)),
                ])
            await writeLog.record("reactions set")
        case .pin:
            _ = try await device.callWithRetry(
                "messages.pin",
                [
                    "conversation_id": .string(room), "seq": .integer(max(1, newest)),
                    "is_pinned": .bool(random.chance(60)),
                ])
            await writeLog.record("messages pinned")
        case .set:
            await writeLog.recordSettings(of: device.user, in: room)
            _ = try await device.callWithRetry(
                "conversations.set",
                [
                    "conversation_id": .string(room),
                    random.chance(50) ? "is_archived" : "is_pinned": .bool(random.chance(60)),
                ])
            await writeLog.record("settings changed")
        case .schedule: try await schedule(in: room)
        case .stream: try await stream(to: room)
        case .block, .unblock:
            guard user != device.user else { return }
            _ = try await device.callWithRetry(
                action == .block ? "users.block" : "users.unblock", ["user_id": .string(user)])
            await writeLog.record("blocks changed")
        case .openDirect: try await openDirect()
        case .comeBack: await device.disconnect()
        }
    }

    /// A unique text.
    private var text: String { "\(device.name) \(number)" }

    private mutating func send(to room: String, answering seq: Int?) async throws {
        let clientID = random.uuid()
        let params: JSONObject = [
            "conversation_id": .string(room), "content": .string(text), "client_id": .string(clientID),
            "reply_to_seq": seq.map { .integer($0) } ?? .null,
        ]
        lastSent = (params, clientID)
        try await record(try await device.callWithRetry("messages.send", params), clientID)
    }

    /// Sends a message in pieces, and mostly finishes it.
    private mutating func stream(to room: String) async throws {
        let clientID = random.uuid()
        var whole = random.chance(50) ? text : ""
        let message = try await device.callWithRetry(
            "messages.send",
            [
                "conversation_id": .string(room), "content": .string(whole), "client_id": .string(clientID),
                "is_streaming": true,
            ])
        try await record(message, clientID)
        let target: JSONObject = ["conversation_id": .string(room), "seq": .integer(message.number("seq"))]
        for place in 0..<Int.random(in: 1...4, using: &random) {
            let piece = " \(text) é😀 \(place)"
            let answer = try await device.callWithRetry(
                "messages.append",
                JSONObject(
                    target.members + [
                        .init(name: "start", value: .integer(whole.unicodeScalars.count)),
                        .init(name: "content", value: .string(piece)),
                    ]))
            whole += piece
            if answer.number("length") != whole.unicodeScalars.count {
                await device.recordViolation("\(clientID) has \(answer.text) after \(whole)")
            }
            await writeLog.record("pieces appended")
        }
        guard random.chance(80) else { return }
        let finished = try await device.callWithRetry("messages.finish", target)
        if finished.text("content") != whole { await device.recordViolation("\(clientID) is \(finished.text)") }
        await writeLog.record(
            message: finished.text("id"), .init(version: finished.number("version"), text: finished.text("content")))
        await writeLog.record("messages finished")
    }

    /// Sends a message twice at once, like a client that retries too early.
    private mutating func sendTwice(to room: String) async throws {
        let clientID = random.uuid()
        let params: JSONObject = [
            "conversation_id": .string(room), "content": .string(text), "client_id": .string(clientID),
        ]
        let device = device
        async let one = device.callWithRetry("messages.send", params)
        async let other = device.callWithRetry("messages.send", params)
        // If the sender is removed between the two, one fails.
        for answer in [try? await one, try? await other] {
            if let answer { try await record(answer, clientID) }
        }
    }

    private mutating func schedule(in room: String) async throws {
        let clientID = random.uuid()
        // The numbers of its scheduled messages are settings.
        await writeLog.recordSettings(of: device.user, in: room)
        let answer = try await device.callWithRetry(
            "messages.schedule",
            [
                "conversation_id": .string(room), "content": .string(text), "client_id": .string(clientID),
                // Later than a lost response. Programs make messages due.
                "due_at": .string(Timestamp.after(seconds: 3_600)),
            ])
        if answer.text("id") != clientID { await device.recordViolation("scheduled \(clientID) as \(answer.text)") }
        await writeLog.record(scheduled: clientID)
    }

    /// Repeats an acknowledged send.
    private mutating func sendAgain() async throws {
        guard let (params, clientID) = lastSent else { return }
        try await record(try await device.callWithRetry("messages.send", params), clientID)
    }

    private mutating func record(_ message: JSON, _ clientID: String) async throws {
        if mine.count == 40 { mine.removeFirst() }
        mine.append((message.text("conversation_id"), message.number("seq")))
        await writeLog.record(
            sent: .init(
                id: message.text("id"), conversation: message.text("conversation_id"),
                sender: message.text("sender_id"), clientID: clientID, seq: message.number("seq")))
    }

    /// Changes one of its own messages, or rarely any other.
    private mutating func change(in room: String, _ newest: Int, _ method: String, _ more: JSONObject) async throws {
        var (room, seq) = (room, max(1, newest - Int.random(in: 0..<20, using: &random)))
        if let own = mine.randomElement(using: &random), random.chance(90) { (room, seq) = own }
        let params: JSONObject = ["conversation_id": .string(room), "seq": .integer(seq)]
        let message = try await device.callWithRetry(method, JSONObject(params.members + more.members))
        await writeLog.record(
            message: message.text("id"),
            .init(version: message.number("version"), text: message["content"]?.stringValue ?? "-"))
        await writeLog.record(method == "messages.edit" ? "edited" : "deleted")
    }

    private func markRead(_ room: String, _ newest: Int) async throws {
        let answer = try await device.callWithRetry(
            "messages.mark_read", ["conversation_id": .string(room), "seq": .integer(max(1, newest))])
        await writeLog.record(mark: answer.number("last_read_seq"), of: device.user, in: room)
        await writeLog.record("marks moved")
    }

    private func rename() async throws {
        let me = try await device.callWithRetry("me.update", ["full_name": .string(text)])
        await writeLog.record(name: .init(version: me.number("version"), text: me.text("full_name")), of: device.user)
        await writeLog.record("names changed")
    }

    private mutating func openDirect() async throws {
        let user = users.filter { $0 != device.user }.randomElement(using: &random) ?? ""
        _ = try await device.callWithRetry("conversations.open", ["user_id": .string(user)])
        await writeLog.record("directs opened")
    }
}
