import Gateway
import HTTPServing
import NIOCore
import Postgres

extension SettingForm<String?> {
    /// A libpq connection string, or nil.
    ///
    /// One that libpq cannot parse would look like an unreachable database. The error repeats nothing of it, since it
    /// may contain a password.
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
    /// Origins of web pages (RFC 6454), separated by commas, including those of apps in a web view
    /// (`capacitor://localhost`). They are normalized as browsers send them: in lower case, without a default port.
    static let origins = SettingForm(
        read: { text throws(SettingFlaw) in
            var origins: [String] = []
            for part in text.split(separator: ",") {
                let given = part.split(separator: " ").joined()
                guard let origin = given == "*" ? given : origin(given) else {
                    throw SettingFlaw(
                        "must be origins, such as https://app.example.com, separated by commas, or *: \"\(given)\" is "
                            + "not\(given.hasSuffix("/") ? ", because of the / at its end" : "").")
                }
                origins.append(origin)
            }
            return origins
        },
        write: { $0.isEmpty ? nil : $0.joined(separator: ",") })

    /// Returns the origin as browsers send it, or nil if it is invalid. `null` is invalid: every sandboxed page sends
    /// it.
    private static func origin(_ given: String) -> String? {
        let text = given.lowercased()
        guard let colon = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<colon.lowerBound]
        // RFC 3986, 3.1.
        guard let first = scheme.utf8.first, letters.contains(first),
            scheme.utf8.allSatisfy({ letters.contains($0) || schemeBytes.contains($0) }),
            let authority = authority(text[colon.upperBound...])
        else { return nil }
        let own = ["http": 80, "https": 443][scheme]
        let port = authority.port.flatMap { $0 == own ? nil : ":\($0)" } ?? ""
        return "\(scheme)://\(authority.host)\(port)"
    }

    private static func authority(_ text: Substring) -> (host: Substring, port: Int?)? {
        var host = text
        var port: Int?
        // The text after the last colon is a port, unless it is within the brackets of an address.
        if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
            let digits = text[text.index(after: colon)...]
            guard let number = Int(digits), (1...65_535).contains(number), digits.utf8.allSatisfy({ $0 != 0x2B })
            else { return nil }
            port = number
            host = text[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = String(host.dropFirst().dropLast())
            guard address.contains(":"), (try? SocketAddress(ipAddress: address, port: 0)) != nil else { return nil }
        } else {
            guard !host.isEmpty, host.utf8.allSatisfy({ letters.contains($0) || hostBytes.contains($0) }) else {
                return nil
            }
        }
        return (host, port)
    }

    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    private static let schemeBytes = Set("0123456789+-.".utf8)
    private static let hostBytes = Set("0123456789-._~".utf8)
}

extension SettingForm<[String]> {
    /// Host names, separated by commas.
    static let names = SettingForm(
        read: { text throws(SettingFlaw) in
            let names = text.split(separator: ",").map { $0.split(separator: " ").joined() }
            for name in names where name != "*" && HTTPAuthority(name)?.host != name.lowercased() {
                throw SettingFlaw(
                    "must be names of hosts without ports, such as node1.example.com, separated by commas, or *: "
                        + "\"\(name)\" is not.")
            }
            return names
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
        // The part after a percent sign names a network interface.
        let address = text.prefix { $0 != "%" }
        if (try? SocketAddress(ipAddress: String(address), port: 0)) != nil { return true }
        // A name of digits and points only is a malformed address.
        return text.utf8.count <= 253 && text.contains(where: \.isLetter)
            && text.utf8.allSatisfy { hostBytes.contains($0) }
    }

    private static let hostBytes = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)
}
