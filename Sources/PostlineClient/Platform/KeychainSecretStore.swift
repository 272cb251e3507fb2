#if canImport(Security)
public import Foundation
import Security

/// Secrets in the user's keychain (Security, Keychain Services), for this device alone and after its first unlock, so that
/// an app in the background can go on.
public struct KeychainSecretStore: SecretStore {
    private let service: String

    /// Secrets of one service, an item each.
    ///
    /// - Parameter service: what tells these items from others of the app.
    public init(service: String) { self.service = service }

    /// What is kept under that name; nil where there is nothing.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func read(named name: String) throws -> Data? {
        var query = query(name)
        query[kSecReturnData] = true
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        try Self.check(status)
        return found as? Data
    }

    /// Keeps it, in place of what was there.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func write(_ secret: Data, named name: String) throws {
        let new: [CFString: Any] = [
            kSecValueData: secret, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = SecItemUpdate(query(name) as CFDictionary, new as CFDictionary)
        if status == errSecItemNotFound {
            try Self.check(unsafe SecItemAdd(query(name).merging(new) { $1 } as CFDictionary, nil))
        } else {
            try Self.check(status)
        }
    }

    /// Forgets it; nothing happens where there is nothing.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func erase(named name: String) throws {
        let status = SecItemDelete(query(name) as CFDictionary)
        if status != errSecItemNotFound { try Self.check(status) }
    }

    private func query(_ name: String) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: name]
    }

    private static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
    }
}
#endif
