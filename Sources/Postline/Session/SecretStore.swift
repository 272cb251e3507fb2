public import Foundation

/// A store for secrets that other programs on the device must not read: the tokens.
public protocol SecretStore: Sendable {
    /// Returns the secret with this name, or nil if there is none.
    func read(named name: String) throws -> Data?
    /// Stores a secret and replaces an existing one. It must do so atomically.
    func write(_ secret: Data, named name: String) throws
    /// Erases a secret. Does nothing if there is none.
    func erase(named name: String) throws
}
