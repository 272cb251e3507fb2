import Foundations

/// The owner and permissions of a file.
struct FileStatus {
    let owner: uid_t
    let group: gid_t
    let permissions: mode_t
    let isDirectory: Bool

    /// Reads a file's status without following a symbolic link. Nil if the file does not exist.
    init?(ofLink path: String) {
        var status = stat()
        // lstat writes one struct that we own.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads a file's status, following symbolic links. Nil if the file does not exist.
    init?(of path: String) {
        var status = stat()
        // stat writes one struct that we own.
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        owner = status.st_uid
        group = status.st_gid
        permissions = status.st_mode & 0o7777
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }
}

/// Creates a directory that only `user` can access. An existing directory must belong to that user, with access for no
/// one else.
///
/// - Throws: `PrivatePostgresError` with the reason.
func makePrivateDirectory(_ path: String, for user: ServerUser?) throws {
    if unsafe mkdir(path, 0o700) == 0 {
        if let user {
            guard unsafe chown(path, user.id, user.group) == 0 else { throw unusable(path) }
        }
    } else if errno != EEXIST {
        throw unusable(path)
    }
    guard let facts = FileStatus(ofLink: path), facts.isDirectory else {
        throw PrivatePostgresError.unusable(directory: path, reason: "it is not a directory")
    }
    guard facts.owner == user?.id ?? geteuid() else {
        throw PrivatePostgresError.unusable(directory: path, reason: "it belongs to another user")
    }
    if facts.permissions & 0o077 != 0 {
        guard unsafe chmod(path, 0o700) == 0 else { throw unusable(path) }
    }
}

/// Returns an error with the reason in `errno`.
func unusable(_ path: String) -> PrivatePostgresError {
    let reason = unsafe String(cString: strerror(errno))
    return .unusable(directory: path, reason: reason)
}
