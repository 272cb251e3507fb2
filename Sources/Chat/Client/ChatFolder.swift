import Foundation

/// The folder in which a chat stores its data. Only one chat at a time can open it, and only the user can read it.
struct ChatFolder: ~Copyable {
    let url: URL
    /// True if the folder is deleted with the chat: for guests, who cannot sign in again, and for access tokens.
    let isTemporary: Bool
    /// The lock, held until the process ends.
    private let lock: Int32

    /// Opens the given folder.
    init(at path: String) throws { try self.init(URL(filePath: path), isTemporary: false) }

    /// Opens the folder of an account at a server, below the user's state directory.
    init(of email: String, at host: String, port: Int) throws {
        let home =
            Terminal.environment("XDG_STATE_HOME").map { URL(filePath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/state")
        let folder = home.appending(path: "postline/chat")
            .appending(path: "\(Self.fileName(host))_\(port)").appending(path: Self.fileName(email))
        try self.init(folder, isTemporary: false)
    }

    /// Creates a temporary folder.
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
        // The end of the process closes it.
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

    /// Deletes the folder and its contents.
    func erase() { try? FileManager.default.removeItem(at: url) }

    /// Returns a file name that is safe on all file systems, and unique for each text except for its case.
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
