internal import Gateway
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

extension SettingForm<String?> {
    /// An address, or a name that may lead to one.
    static let host = SettingForm(
        read: { text throws(SettingFlaw) in try SettingForm<String>.host.read(text) }, write: { $0 })
}

extension SettingForm<[String]> {
    /// Origins of web pages (RFC 6454), separated by commas.
    static let origins = SettingForm(
        read: { text throws(SettingFlaw) in
            let origins = text.split(separator: ",").map { $0.split(separator: " ").joined() }
            for origin in origins where origin != "*" {
                let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
                guard parts.count == 3, ["https:", "http:"].contains(parts[0]), parts[1].isEmpty, !parts[2].isEmpty
                else {
                    throw SettingFlaw(
                        "must be origins, such as https://app.example.com, separated by commas, or *: \"\(origin)\" is "
                            + "none\(origin.hasSuffix("/") ? " with the / at its end" : "").")
                }
            }
            return origins
        },
        write: { $0.isEmpty ? nil : $0.joined(separator: ",") })
}

extension SettingForm<TrustedProxies> {
    /// Addresses and networks, separated by commas.
    static let networks = SettingForm(
        read: { text throws(SettingFlaw) in
            guard let proxies = TrustedProxies(text) else {
                throw SettingFlaw("must be addresses or networks, such as 10.0.0.0/8, separated by commas.")
            }
            return proxies
        },
        write: { _ in nil })
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
