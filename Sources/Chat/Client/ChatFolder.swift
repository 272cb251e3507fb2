internal import Foundation

/// Where a chat keeps what it knows: a folder that one chat at a time has open, and nobody but the user may read.
struct ChatFolder: ~Copyable {
    let url: URL
    /// Whether it goes with the chat: a guest's, who cannot come back, and that of an access token.
    let isTemporary: Bool
    /// Holds the lock for as long as the process lives.
    private let lock: Int32

    /// The folder that was asked for.
    init(at path: String) throws { try self.init(URL(filePath: path), isTemporary: false) }

    /// The folder of an account of a server, below the user's own state.
    init(of email: String, at host: String, port: Int) throws {
        let home =
            Terminal.environment("XDG_STATE_HOME").map { URL(filePath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/state")
        let folder = home.appending(path: "postline/chat")
            .appending(path: "\(Self.fileName(host))_\(port)").appending(path: Self.fileName(email))
        try self.init(folder, isTemporary: false)
    }

    /// A folder for this chat alone.
    init() throws {
        let name = "postline-chat-\(UUID().uuidString.lowercased())"
        try self.init(FileManager.default.temporaryDirectory.appending(path: name), isTemporary: true)
    }

    private init(_ url: URL, isTemporary: Bool) throws {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ChatEnded(description: "The folder \(url.path) cannot be made, in which this chat would be kept.")
        }
        // Closed by the process's end, whatever that is.
        let lock = unsafe open(url.appending(path: "lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw ChatEnded(description: "The folder \(url.path) cannot be written, in which this chat is kept.")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw ChatEnded(
                description:
                    "Another chat has \(url.path) open: end it, or give this one a folder of its own with --store."
            )
        }
        self.url = url
        self.isTemporary = isTemporary
        self.lock = lock
    }

    /// Takes it away with all that is in it.
    func erase() { try? FileManager.default.removeItem(at: url) }

    /// A name that no file system takes for anything else, one for each text but for its case.
    static func fileName(_ text: String) -> String {
        text.lowercased().utf8.enumerated().reduce(into: "") { name, byte in
            let scalar = Unicode.Scalar(byte.element)
            switch scalar {
            case "a"..."z", "0"..."9", "@", "-", "_", "+": name.unicodeScalars.append(scalar)
            case "." where byte.offset > 0: name += "."
            default: name += "%" + String(byte.element >> 4, radix: 16) + String(byte.element & 15, radix: 16)
            }
        }
    }
}
