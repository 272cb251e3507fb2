import Crypto
import LineClient
import WireProtocol

/// The state of a client that follows the protocol, in compact form. It checks the guarantee that every change arrives
/// once, in the order of `seq` and `version`.
struct Model: Sendable {
    struct Message: Sendable {
        var version: Int
        var content: String?
        var replyTo: Int?

        /// The text so far of a message that is streaming.
        var streamed: String?

        /// True if the message was read by `messages.list` and may be newer than pushes on their way.
        var isAhead = false
    }

    /// The reactions to a message, as members see them: `👍=2`, and what the user has set itself.
    struct Reactions: Sendable {
        var version: Int
        var counts: String
        var own: String

        /// True if `messages.list` returned them, as for a message.
        var isAhead = false
    }

    struct Conversation: Sendable {
        var version = 0
        var kind = ""
        var title = "-"
        var roles: [String: String] = [:]
        var joined: [String: String] = [:]
        var marks: [String: Int] = [:]
        var deliveredMarks: [String: Int] = [:]

        /// The first message of the contiguous range that the client has.
        var first = 1
        var newest = 0
        var messages: [Int: Message] = [:]
        var reactions: [Int: Reactions] = [:]
        var pinnedSeqs = ""

        /// The settings of the user alone. A change of them comes with the same version.
        var settings = ""

        mutating func mark(_ user: String, _ seq: Int) { marks[user] = max(seq, marks[user] ?? 0) }

        /// Drops expired messages.
        mutating func drop(below kept: Int) {
            first = max(first, kept)
            newest = max(newest, kept - 1)
            messages = messages.filter { $0.key >= kept }
            reactions = reactions.filter { $0.key >= kept }
        }

        mutating func markDelivered(_ user: String, _ seq: Int) {
            deliveredMarks[user] = max(seq, deliveredMarks[user] ?? 0)
        }
    }

    /// The messages of a conversation that a `limited` delta left out.
    struct Gap: Sendable {
        let room: String
        let seqs: Range<Int>
    }

    private(set) var rooms: [String: Conversation] = [:]
    private(set) var profiles: [String: (version: Int, publicFields: String)] = [:]
    private(set) var me: (version: Int, publicFields: String)?

    /// The presence of users who share a conversation with this one.
    private var presence: [String: Bool] = [:]

    /// The users whom this one blocks.
    private var blocked: [String] = []

    /// The last fence that arrived (see `ExpectedState`).
    private(set) var fence = 0

    /// The number of received objects.
    private(set) var count = 0

    /// Applies a change, and returns the omitted ranges and the violated guarantees.
    ///
    /// - Parameter roomsWithSettings: The conversations that come again with the same version, since the user has
    ///   changed its settings.
    mutating func apply(
        _ changes: JSON, for user: String, roomsWithSettings: Set<String>
    ) -> (gaps: [Gap], violations: [String]) {
        var violations: [String] = []
        var gaps: [Gap] = []
        if changes["reset"] == true { self = Model() }
        if changes["blocked"] != nil { blocked = changes.ids("blocked") }
        // The conversation may be unknown, if it came and ended in between.
        for id in changes.ids("left") { rooms[id] = nil }
        if let object = changes["me"] {
            if object.number("version") <= me?.version ?? 0 {
                violations.append("me came with version \(object.number("version")) after \(me?.version ?? 0)")
            }
            me = (object.number("version"), object.publicFields)
            fence = object["preferences"]?["fence"]?.integerValue ?? fence
        }
        var fresh: Set<String> = []
        var newcomers: Set<String> = []
        var leavers: Set<String> = []
        for object in changes.list("conversations") {
            let id = object.text("id")
            if rooms[id] == nil { fresh.insert(id) }
            let before = rooms[id]?.joined ?? [:]
            violations += take(conversation: object, roomsWithSettings)
            leavers.formUnion(before.keys.filter { rooms[id]?.joined[$0] == nil })
            if rooms[id]?.roles[user] == nil { violations.append("conversation \(id), which it is not in") }
            newcomers.formUnion((rooms[id]?.joined ?? [:]).filter { before[$0.key] != $0.value }.keys)
        }
        // The server does not know which other users a client has stored: those who wrote in a new conversation and
        // left, and those who came, wrote and left meanwhile.
        for object in changes.list("profiles") {
            let isExpectedAgain = !fresh.isEmpty || newcomers.union(leavers).contains(object.text("id"))
            violations += take(profile: object, isExpectedAgain: isExpectedAgain)
        }
        if rooms.isEmpty, changes.ids("left").isEmpty, !changes.list("profiles").isEmpty {
            violations.append("profiles, though it is in no conversation")
        }
        let messages = changes.list("messages")
        let given = Set(messages.map { $0.text("conversation_id") })
        for id in fresh where !given.contains(id) {
            let newest = changes.list("conversations").first { $0.text("id") == id }?.number("last_seq") ?? 0
            rooms[id]?.first = newest + 1
            rooms[id]?.newest = newest
        }
        let limited = Set(changes.ids("limited"))
        for object in messages {
            let id = object.text("conversation_id")
            violations += take(message: object, isLimited: limited.contains(id), fresh.contains(id), &gaps)
        }
        for object in changes.list("pieces") { violations += take(piece: object, limited) }
        for object in changes.list("reactions") { violations += take(reactions: object) }
        for read in changes.list("reads") {
            let id = read.text("conversation_id")
            if rooms[id] == nil { violations.append("a read mark in \(id), which it is not in") }
            rooms[id]?.mark(read.text("user_id"), read.number("last_read_seq"))
        }
        for mark in changes.list("delivered") {
            let id = mark.text("conversation_id")
            if rooms[id] == nil { violations.append("a delivered mark in \(id), which it is not in") }
            rooms[id]?.markDelivered(mark.text("user_id"), mark.number("last_delivered_seq"))
        }
        let known = Set(rooms.values.flatMap(\.roles.keys))
        for object in changes.list("presence") {
            let id = object.text("user_id")
            presence[id] = object["is_online"] == true
            if !known.contains(id) || id == user {
                violations.append("the presence of \(id), who shares no conversation")
            }
        }
        // Users without a shared conversation send no more changes.
        presence = presence.filter { known.contains($0.key) }
        count +=
            messages.count + changes.list("conversations").count + changes.list("profiles").count
            + changes.list("reads").count + changes.ids("left").count + (changes["me"] == nil ? 0 : 1)
        return (gaps, violations)
    }

    private mutating func take(conversation object: JSON, _ roomsWithSettings: Set<String>) -> [String] {
        let id = object.text("id")
        var room = rooms[id] ?? Conversation()
        let version = object.number("version")
        defer { rooms[id] = room }
        for member in object.list("members") {
            room.mark(member.text("user_id"), member.number("last_read_seq"))
            room.markDelivered(member.text("user_id"), member.number("last_delivered_seq"))
        }
        let settings =
            ["is_archived", "is_pinned"].map { "\(object[$0] == true)" }
            + ["scheduled_count", "unsent_count"].map { "\(object.number($0))" }
        guard version > room.version || version == room.version && roomsWithSettings.contains(id) else {
            return ["conversation \(id) came with version \(version) after \(room.version)"]
        }
        room.version = version
        room.kind = object.text("kind")
        room.title = object["title"]?.stringValue ?? "-"
        room.settings = settings.joined(separator: " ")
        room.pinnedSeqs = object.list("pinned_seqs").compactMap(\.integerValue).map(String.init).joined(separator: ",")
        room.drop(below: object.number("first_seq"))
        room.roles = [:]
        room.joined = [:]
        for member in object.list("members") {
            room.roles[member.text("user_id")] = member.text("role")
            room.joined[member.text("user_id")] = member.text("joined_at")
        }
        // The mark of a returning member starts again; a former member has none.
        room.marks = room.marks.filter { room.roles[$0.key] != nil }
        room.deliveredMarks = room.deliveredMarks.filter { room.roles[$0.key] != nil }
        return []
    }

    private mutating func take(profile object: JSON, isExpectedAgain: Bool) -> [String] {
        let (id, version) = (object.text("id"), object.number("version"))
        let held = profiles[id]?.version ?? 0
        guard version > held || (version == held && isExpectedAgain) else {
            return ["profile \(id) came with version \(version) after \(held)"]
        }
        profiles[id] = (version, object.publicFields)
        return []
    }

    private mutating func take(
        message object: JSON, isLimited: Bool, _ isFresh: Bool, _ gaps: inout [Gap]
    ) -> [String] {
        let (id, seq, version) = (object.text("conversation_id"), object.number("seq"), object.number("version"))
        guard var room = rooms[id] else { return ["message \(seq) of \(id), which it is not in"] }
        defer { rooms[id] = room }
        let message = Message(object, version)
        if seq > room.newest {
            var violations: [String] = []
            if isFresh, room.newest == 0 {
                room.first = seq
            } else if seq > room.newest + 1 {
                if isLimited {
                    gaps.append(Gap(room: id, seqs: room.newest + 1..<seq))
                } else {
                    violations.append("message \(seq) of \(id) came after \(room.newest)")
                }
            }
            room.newest = seq
            room.messages[seq] = message
            room.mark(object.text("sender_id"), seq)
            return violations
        }
        // An older version is a change of a message that the client does not have.
        guard let held = room.messages[seq] else { return [] }
        guard version > held.version else {
            return held.isAhead
                ? [] : ["message \(seq) of \(id) came with version \(version) after \(held.version)"]
        }
        room.messages[seq] = message
        return []
    }

    /// Takes what a piece has beyond the text so far.
    private mutating func take(piece object: JSON, _ limited: Set<String> = []) -> [String] {
        let (id, seq, start) = (object.text("conversation_id"), object.number("seq"), object.number("start"))
        guard let room = rooms[id] else { return ["a piece in \(id), which it is not in"] }
        guard let held = room.messages[seq] else {
            let isOmitted = seq < room.first || limited.contains(id) || seq > room.newest
            return isOmitted ? [] : ["a piece of \(seq) of \(id), which it does not have"]
        }
        // The message is finished, and the page began before that.
        if held.version > 1 { return [] }
        let text = held.streamed ?? ""
        let content = object.text("content").unicodeScalars
        guard start <= text.unicodeScalars.count else {
            return ["a piece of \(seq) of \(id) came at \(start) after \(text.unicodeScalars.count)"]
        }
        let news = String(String.UnicodeScalarView(content.dropFirst(text.unicodeScalars.count - start)))
        rooms[id]?.messages[seq]?.streamed = text + news
        return []
    }

    /// Takes reactions, with those of the user itself if the object has them.
    private mutating func take(reactions object: JSON, isAhead: Bool = false) -> [String] {
        let (id, seq, version) = (object.text("conversation_id"), object.number("seq"), object.number("version"))
        guard let room = rooms[id] else { return ["reactions in \(id), which it is not in"] }
        let held = room.reactions[seq]
        if let held, version < held.version {
            return held.isAhead || isAhead
                ? [] : ["reactions to \(seq) of \(id) came with version \(version) after \(held.version)"]
        }
        let counts = (object["counts"]?.objectValue?.members ?? []).map { "\($0.name)=\($0.value.integerValue ?? 0)" }
        let own = object["own"].map { _ in object.list("own").compactMap(\.stringValue).sorted().joined(separator: ",")
        }
        rooms[id]?.reactions[seq] = Reactions(
            version: version, counts: counts.sorted().joined(separator: ","), own: own ?? held?.own ?? "",
            isAhead: isAhead)
        return []
    }

    /// Adds a page of `messages.list` to a gap.
    mutating func fill(_ gap: Gap, _ page: JSON) {
        guard rooms[gap.room] != nil else { return }
        for object in page.list("reactions") where gap.seqs.contains(object.number("seq")) {
            _ = take(reactions: object, isAhead: true)
        }
        for object in page.list("messages") where gap.seqs.contains(object.number("seq")) {
            let seq = object.number("seq")
            guard rooms[gap.room]?.messages[seq] == nil else { continue }
            rooms[gap.room]?.messages[seq] = Message(object, object.number("version"), isAhead: true)
            rooms[gap.room]?.mark(object.text("sender_id"), seq)
        }
        for object in page.list("pieces") where gap.seqs.contains(object.number("seq")) { _ = take(piece: object) }
    }
}

extension Model {
    /// Returns the state as lines, in the form of `ExpectedState`.
    func lines(of user: String) -> Set<String> {
        var lines: Set<String> = [
            "me \(user) \(me?.version ?? 0) \(me?.publicFields ?? "")", "blocked \(blocked.joined(separator: ","))",
        ]
        for (id, room) in rooms {
            let content = room.messages[room.newest]?.content ?? "-"
            lines.insert("conversation \(id) \(room.kind) \(room.version) \(room.title) \(room.newest) \(content)")
            lines.insert("pinned \(id) \(room.pinnedSeqs)")
            lines.insert("settings \(id) \(room.settings)")
            for (seq, reactions) in room.reactions where seq >= room.first && reactions.counts != "" {
                lines.insert("reactions \(id) \(seq) \(reactions.version) \(reactions.counts) \(reactions.own)")
            }
            for (member, role) in room.roles {
                lines.insert("member \(id) \(member) \(role) \(room.marks[member] ?? 0)")
            }
            if room.newest >= room.first {
                lines.insert("messages \(id) \(room.newest - room.first + 1) \(room.digest)")
            }
        }
        return lines
    }

    /// The users who are online, as far as the client knows.
    var online: Set<String> { Set(presence.filter(\.value).keys) }

    /// Returns the delivered marks of the other members, as lines.
    func deliveredLines(of user: String) -> Set<String> {
        Set(
            rooms.flatMap { id, room in
                room.roles.keys.filter { $0 != user }.map { member in
                    "\(id) \(member) \(max(room.marks[member] ?? 0, room.deliveredMarks[member] ?? 0))"
                }
            })
    }

    /// The known profiles, as lines.
    var profileLines: Set<String> { Set(profiles.map { "profile \($0.key) \($0.value.publicFields)" }) }
}

extension Model.Message {
    fileprivate init(_ object: JSON, _ version: Int, isAhead: Bool = false) {
        self.init(
            version: version, content: object["content"]?.stringValue,
            replyTo: object["reply_to"]?["seq"]?.integerValue,
            isAhead: isAhead)
    }
}

extension Model.Conversation {
    /// The stored messages, one per line.
    var history: [String] {
        (first..<newest + 1).map { seq in
            messages[seq].map {
                "\(seq) \($0.version) \($0.streamed ?? $0.content ?? "-") \($0.replyTo ?? 0)"
            } ?? "\(seq) is missing"
        }
    }

    fileprivate var digest: String {
        Insecure.MD5.hash(data: Array(history.joined(separator: "\n").utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension JSON {
    func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
    func number(_ name: String) -> Int { self[name]?.integerValue ?? 0 }
    func list(_ name: String) -> [JSON] { self[name]?.arrayValue ?? [] }
    fileprivate func ids(_ name: String) -> [String] { list(name).compactMap(\.stringValue) }

    /// The fields of a Profile or Me that others see.
    fileprivate var publicFields: String {
        ["full_name", "bio", "avatar_type", "avatar_id", "avatar_url"].map { self[$0]?.stringValue ?? "-" }
            .joined(separator: " ")
    }
}
