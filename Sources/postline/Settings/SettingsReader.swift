internal import Configuration
internal import NIOCore
internal import Postgres

/// Reads settings, and names in each error the variable to change.
struct SettingsReader {
    let config: ConfigReader

    /// A text, or nil; an empty one is none.
    func text(_ key: String) -> String? {
        config.string(forKey: ConfigKey([key])).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A text that has a default, which an empty one would put out of force.
    func required(_ key: String) throws(SettingsError) -> String {
        guard let text = text(key) else { throw SettingsError("\(variable(key)) must not be empty.") }
        return text
    }

    /// A connection string of libpq, or nil.
    ///
    /// One that cannot be used whatever the database is would be taken for a database that is away. Nothing of it is
    /// told, since it may hold a password.
    func connectionString(_ key: String) throws(SettingsError) -> String? {
        guard let text = text(key) else { return nil }
        switch ConnectionStringFlaw(in: text) {
        case nil: return text
        case .malformed:
            throw SettingsError(
                "\(variable(key)) cannot be read as a connection string: write a URL such as "
                    + "postgresql://postline:PASSWORD@HOST/postline, with the password percent-encoded.")
        case .value(let keyword):
            throw SettingsError(
                "\(variable(key)) has no usable \(keyword): correct it, or percent-encode what the password has of "
                    + "/, :, @, ? and #.")
        }
    }

    /// An address, or a name that may lead to one.
    func host(_ key: String) throws(SettingsError) -> String {
        guard let host = text(key), Self.canBeHost(host) else {
            throw SettingsError(
                "\(variable(key)) must be an address or a name of this machine, without a port, such as 127.0.0.1, or "
                    + "0.0.0.0 for all that it has.")
        }
        return host
    }

    private static func canBeHost(_ text: String) -> Bool {
        // What is behind a percent sign names a network interface.
        let address = text.prefix { $0 != "%" }
        if (try? SocketAddress(ipAddress: String(address), port: 0)) != nil { return true }
        // Only digits and points are an address that is none.
        return text.utf8.count <= 253 && text.contains(where: \.isLetter)
            && text.utf8.allSatisfy { Self.hostBytes.contains($0) }
    }

    private static let hostBytes = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)

    func integer(_ key: String, in limits: ClosedRange<Int>) throws(SettingsError) -> Int {
        let value = try? config.requiredInt(forKey: ConfigKey([key]))
        guard let value, limits.contains(value) else {
            throw SettingsError(
                "\(variable(key)) must be an integer from \(limits.lowerBound) to \(limits.upperBound).")
        }
        return value
    }

    func tlsFiles() throws(SettingsError) -> TLSFiles? {
        switch (text("tls_certificate"), text("tls_key")) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return TLSFiles(certificate: certificate, key: key)
        case (_?, nil): throw SettingsError("POSTLINE_TLS_CERTIFICATE needs its key: set POSTLINE_TLS_KEY.")
        case (nil, _?):
            throw SettingsError("POSTLINE_TLS_KEY needs its certificate: set POSTLINE_TLS_CERTIFICATE.")
        }
    }

    /// A port, or nil for `off`.
    func portOrOff(_ key: String) throws(SettingsError) -> Int? {
        if text(key) == "off" { return nil }
        do {
            return try integer(key, in: 0...65_535)
        } catch {
            throw SettingsError("\(error.description.dropLast()), or off.")
        }
    }

    func choice<Value: RawRepresentable & CaseIterable>(_ key: String) throws(SettingsError) -> Value
    where Value.RawValue == String {
        guard let value = Value(rawValue: try required(key)) else {
            let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingsError("\(variable(key)) must be one of \(all).")
        }
        return value
    }

    private func variable(_ key: String) -> String { SettingNames.variable(key) }
}
