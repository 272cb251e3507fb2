internal import FoundationEssentials
internal import Messaging

/// A folder that takes mails: a file each, which only its owner reads.
struct MailFolder: MailTransport {
    let path: String

    /// Is told where each mail is.
    let written: @Sendable (String) -> Void

    func deliver(_ message: MailMessage) async -> Delivery {
        guard let address = MailAddress(message.order.email) else { return .unusableAddress }
        let date = Date()
        // In the order in which they were sent; the same for the same mail, so that one that is sent again is one.
        let time = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        let name = "\(time)-\(message.order.kind.rawValue)-\(message.order.id).eml"
        let bytes = message.bytes(to: address, at: date)
        do {
            let flaw = try await BlockingCall.value { [path] in Self.write(bytes, to: name, in: path) }
            if let flaw { return .later(flaw, logged: "not written") }
        } catch {
            return .later("\(error)", logged: "no thread")
        }
        written("\(path)/\(name)")
        return .taken()
    }

    /// Makes no folder: one that is misspelt would be there then.
    func check() async -> String? {
        do {
            return try await BlockingCall.value { [path] in
                var isFolder = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                    return "there is no folder \(path) yet"
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
        "\(path) is no folder that this user can write to"
    }

    /// Whole, or not at all; what keeps it from that, else nil.
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

extension Delivery {
    static func later(_ why: String, after: Duration? = nil, logged: String) -> Delivery {
        Delivery(outcome: .later(why, after: after), logged: logged)
    }

    static func refused(_ why: String, logged: String) -> Delivery {
        Delivery(outcome: .refused(why), logged: logged)
    }

    /// Quotes, comments and letters beyond ASCII are taken by few mail servers, and each is a way to say something else.
    static let unusableAddress = refused(
        "The address has characters that no mail is sent to: it must be letters, digits and signs of ASCII.",
        logged: "unusable address")
}
