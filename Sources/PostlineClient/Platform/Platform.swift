import Foundation

/// What each system has of its own.
enum Platform {
    #if canImport(Security)
    /// The user's keychain.
    static func secrets(in folder: URL) -> any SecretStore { KeychainSecretStore(service: "postline") }
    #else
    /// Files of the user alone, beside the store.
    static func secrets(in folder: URL) -> any SecretStore {
        FileSecretStore(folder: folder.appendingPathComponent("secrets"))
    }
    #endif

    static func connector(authorities: String?) -> any Connector { PosixConnector(authorities: authorities) }

    #if !canImport(Network)
    /// Nothing tells of the network's path here.
    static func onNetworkChange(_ body: @escaping @Sendable () -> Void) -> AnyObject? { nil }
    #endif
}
