import LineServer

/// An error that kept a server from starting and that a later start may not meet.
struct StartError: Error, CustomStringConvertible {
    let description: String
}

extension ListenError {
    /// Adds the setting to change, by the name under which it was given: a flag, a variable or a key.
    ///
    /// - Parameters:
    ///   - host: the key of the host's setting.
    ///   - port: the key of the port's setting.
    /// - Returns: a `SettingsError` if the next start would fail too, otherwise a `StartError`.
    func naming(host: String, port: String, in settings: Settings) -> any Error {
        let (host, port) = (settings.name(of: host), settings.name(of: port))
        return switch reason {
        case .portInUse:
            StartError(description: "\(self) Stop what listens there, or set \(port) to another.")
        case .portNeedsPrivileges: SettingsError("\(self) Set \(port) to one from 1024 on.")
        case .addressNotHere, .hostUnknown:
            SettingsError("\(self) Set \(host) to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all.")
        case .other: StartError(description: "\(self) See to \(host) and \(port).")
        }
    }
}
