import FoundationEssentials
import Foundations
import Concurrency

/// A folder with a file per mail, readable only by its owner.
struct MailFolder: MailTransport {
    let path: String

    /// Called with the path of each mail.
    let written: @Sendable (String) -> Void

    func deliver(_ message: MailMessage) async -> MailDelivery {
        guard let address = MailAddress(message.order.email) else { return .unusableAddress }
        let date = Date()
        // In the order of sending, and the same for the same mail, so that a mail sent again replaces itself.
        let time = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        let name = "\(time)-\(message.order.kind.rawValue)-\(message.order.id).eml"
        let bytes = message.bytes(to: address, at: date)
        do {
            let flaw = try await DetachedThread.value(name: "mail") { [path] in Self.write(bytes, to: name, in: path) }
            if let flaw { return .deferred(flaw, logged: "not written") }
        } catch {
            return .deferred("\(error)", logged: "no thread")
        }
        written("\(path)/\(name)")
        return .accepted()
    }

    /// Does not create the folder, which would hide a misspelt path.
    func check() async -> String? {
        do {
            return try await DetachedThread.value(name: "mail") { [path] in
                var isFolder = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                    return "the folder \(path) does not exist"
                }
                let probe = "\(path)/.probe-\(ID.random())"
                guard isFolder, FileManager.default.createFile(atPath: probe, contents: nil) else {
                    return Self.flaw(path)
                }
                try? FileManager.default.removeItem(atPath: probe)
                return nil
            }
        } catch {
            return "\(error)"
        }
    }

    private static func flaw(_ path: String) -> String {
        "\(path) must be a folder that this user can write to"
    }

    /// Writes the file atomically. Returns nil or the error.
    private static func write(_ bytes: [UInt8], to name: String, in path: String) -> String? {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let part = "\(path)/.\(name)"
            try? FileManager.default.removeItem(atPath: part)
            guard
                FileManager.default.createFile(
                    atPath: part, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
            else { return flaw(path) }
            try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
            try FileManager.default.moveItem(atPath: part, toPath: "\(path)/\(name)")
            return nil
        } catch {
            return flaw(path)
        }
    }
}

extension MailDelivery {
    static func deferred(_ why: String, after: Duration? = nil, logged: String) -> MailDelivery {
        MailDelivery(outcome: .deferred(why, after: after), logged: logged)
    }

    static func rejected(_ why: String, logged: String) -> MailDelivery {
        MailDelivery(outcome: .rejected(why), logged: logged)
    }

    /// Few mail servers accept quotes, comments and non-ASCII letters, and each can change the meaning of an address.
    static let unusableAddress = rejected(
        "The address has unsupported characters: it must have only ASCII letters, digits and symbols.",
        logged: "unusable address")
}
