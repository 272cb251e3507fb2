#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The unprivileged user that PostgreSQL runs as where we are root, which PostgreSQL refuses to be.
struct ServerUser: Sendable, Hashable {
    let name: String
    let id: uid_t
    let group: gid_t

    /// True where this process is root.
    static var weAreRoot: Bool { geteuid() == 0 }

    /// `postgres` where that user exists, else `nobody`; nil where this process is no root and needs none.
    static func unprivileged() -> ServerUser? {
        guard weAreRoot else { return nil }
        return ServerUser(named: "postgres") ?? ServerUser(named: "nobody")
            ?? ServerUser(name: "65534", id: 65534, group: 65534)
    }

    /// The owner of data that exists, so that a directory made by an ordinary user stays that user's.
    static func owner(id: uid_t, group: gid_t) -> ServerUser {
        // As with getpwnam below: the name is copied at once.
        let name = unsafe getpwuid(id).map { unsafe String(cString: $0.pointee.pw_name) }
        return ServerUser(name: name ?? String(id), id: id, group: group)
    }

    /// The command that runs a program as this user, with none of root's groups.
    ///
    /// A program does it, not the child between fork and exec: there the C library's `setgroups` waits for every
    /// thread that was about to start in the parent, and the child has none of them.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        ["setpriv", "--reuid=\(id)", "--regid=\(group)", "--clear-groups", program] + arguments
    }

    private init(name: String, id: uid_t, group: gid_t) {
        self.name = name
        self.id = id
        self.group = group
    }

    private init?(named name: String) {
        // getpwnam's answer lives in the C library's own buffer until its next call; what we need is copied at once.
        guard let entry = unsafe getpwnam(name) else { return nil }
        self.init(name: name, id: unsafe entry.pointee.pw_uid, group: unsafe entry.pointee.pw_gid)
    }
}
