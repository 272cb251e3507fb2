import Foundation

/// Platform-specific implementations.
enum Platform {
    #if canImport(Security)
    /// Returns the user's keychain.
    static func secrets(in folder: URL) -> any SecretStore { KeychainSecretStore(service: "postline") }
    #else
    /// Returns private files beside the store.
    static func secrets(in folder: URL) -> any SecretStore {
        FileSecretStore(folder: folder.appendingPathComponent("secrets"))
    }
    #endif

    static func connector(authorities: String?) -> any Connector { PosixConnector(authorities: authorities) }

    #if !canImport(Network)
    /// Returns nil, because this platform does not report network changes.
    static func onNetworkChange(_ body: @escaping @Sendable () -> Void) -> AnyObject? { nil }
    #endif
}
