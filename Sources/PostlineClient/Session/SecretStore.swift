public import Foundation

/// Keeps what nobody else on the device may read: tokens.
public protocol SecretStore: Sendable {
    /// What is kept under that name; nil where there is nothing.
    func read(named name: String) throws -> Data?
    /// Keeps it, in place of what was there: afterwards it is there whole, whatever happens meanwhile.
    func write(_ secret: Data, named name: String) throws
    /// Forgets it; nothing happens where there is nothing.
    func erase(named name: String) throws
}
