internal import NIOCore
internal import Postgres

extension SettingForm<String?> {
    /// A connection string of libpq, or nil.
    ///
    /// One that cannot be used whatever the database is would be taken for a database that is away. Nothing of it is
    /// told, since it may hold a password.
    static let connectionString = SettingForm(
        read: { text throws(SettingFlaw) in
            if text.isEmpty { return nil }
            switch ConnectionStringFlaw(in: text) {
            case nil: return text
            case .malformed:
                throw SettingFlaw(
                    "cannot be read as a connection string: write a URL such as "
                        + "postgresql://postline:PASSWORD@HOST/postline, with the password percent-encoded.")
            case .value(let keyword):
                throw SettingFlaw(
                    "has no usable \(keyword): correct it, or percent-encode what the password has of "
                        + "/, :, @, ? and #.")
            }
        },
        write: { $0 })
}

extension SettingForm<String> {
    /// An address, or a name that may lead to one.
    static let host = SettingForm(
        read: { text throws(SettingFlaw) in
            guard canBeHost(text) else {
                throw SettingFlaw(
                    "must be an address or a name of this machine, without a port, such as 127.0.0.1, or 0.0.0.0 for "
                        + "all that it has.")
            }
            return text
        },
        write: { $0 })

    private static func canBeHost(_ text: String) -> Bool {
        // What is behind a percent sign names a network interface.
        let address = text.prefix { $0 != "%" }
        if (try? SocketAddress(ipAddress: String(address), port: 0)) != nil { return true }
        // Only digits and points are an address that is none.
        return text.utf8.count <= 253 && text.contains(where: \.isLetter)
            && text.utf8.allSatisfy { hostBytes.contains($0) }
    }

    private static let hostBytes = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)
}
