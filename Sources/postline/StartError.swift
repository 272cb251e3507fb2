internal import LineServer

/// What kept a server from starting and may be gone when it is started again, in sentences.
struct StartError: Error, CustomStringConvertible {
    let description: String
}

extension ListenError {
    /// The same for whoever wrote the settings: with the one to change.
    ///
    /// - Parameters:
    ///   - host: the setting that has the host.
    ///   - port: the setting that has the port.
    /// - Returns: a `SettingsError` where it would be the same the next time, else a `StartError`.
    func naming(host: String, port: String) -> any Error {
        switch reason {
        case .portInUse:
            StartError(description: "\(self) Stop what listens there, or set \(port) to another.")
        case .portNeedsPrivileges: SettingsError("\(self) Set \(port) to one from 1024 on.")
        case .addressNotHere, .hostUnknown:
            SettingsError("\(self) Set \(host) to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all.")
        case .other: StartError(description: "\(self) See to \(host) and \(port).")
        }
    }
}
