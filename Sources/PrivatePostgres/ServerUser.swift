import Foundations

/// The unprivileged user that runs PostgreSQL if this process is root, which PostgreSQL refuses.
struct ServerUser: Sendable, Hashable {
    let name: String
    let id: uid_t
    let group: gid_t

    /// True if this process is root.
    static var weAreRoot: Bool { geteuid() == 0 }

    /// Returns `postgres` if that user exists, otherwise `nobody`; nil if this process is not root.
    static func unprivileged() -> ServerUser? {
        guard weAreRoot else { return nil }
        return ServerUser(named: "postgres") ?? ServerUser(named: "nobody")
            ?? ServerUser(name: "65534", id: 65534, group: 65534)
    }

    /// Returns the owner of existing data, so that an ordinary user's directory stays that user's.
    static func owner(id: uid_t, group: gid_t) -> ServerUser {
        // The name is copied at once, as with getpwnam below.
        let name = unsafe getpwuid(id).map { unsafe String(cString: $0.pointee.pw_name) }
        return ServerUser(name: name ?? String(id), id: id, group: group)
    }

    /// Returns the command that runs a program as this user, without root's groups.
    ///
    /// A program changes the user, not the child between fork and exec: there the C library's `setgroups` waits for
    /// threads of the parent that the child does not have.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        ["setpriv", "--reuid=\(id)", "--regid=\(group)", "--clear-groups", program] + arguments
    }

    private init(name: String, id: uid_t, group: gid_t) {
        self.name = name
        self.id = id
        self.group = group
    }

    private init?(named name: String) {
        // getpwnam's result is in a buffer of the C library until its next call; it is copied at once.
        guard let entry = unsafe getpwnam(name) else { return nil }
        self.init(name: name, id: unsafe entry.pointee.pw_uid, group: unsafe entry.pointee.pw_gid)
    }
}
