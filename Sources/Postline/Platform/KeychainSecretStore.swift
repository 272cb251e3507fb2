#if canImport(Security)
public import Foundation
import Security

/// A secret store in the user's keychain (Security, Keychain Services).
///
/// Items stay on this device and are readable after its first unlock, so that an app in the background can connect.
/// Before, every call throws `errSecInteractionNotAllowed`. On macOS items are in the login keychain, because programs
/// without entitlements have no other (TN3137).
public struct KeychainSecretStore: SecretStore {
    private let service: String
    private let accessGroup: String?

    /// Creates a store whose items belong to one keychain service.
    ///
    /// - Parameters:
    ///   - service: A name that separates these items from the app's others.
    ///   - accessGroup: The keychain access group or App Group that an app shares with its extensions
    ///     (`kSecAttrAccessGroup`), or nil for the app's own. The entitlements of each of them must list it.
    public init(service: String, accessGroup: String? = nil) {
        self.service = service
        self.accessGroup = accessGroup
    }

    /// Returns the secret with this name, or nil if there is none.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func read(named name: String) throws -> Data? {
        var query = query(name)
        query[kSecReturnData] = true
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        try Self.check(status)
        // Without the error, an unreadable item would sign the user out.
        guard let secret = found as? Data else { throw Self.error(errSecDecode) }
        return secret
    }

    /// Stores a secret and replaces an existing one.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func write(_ secret: Data, named name: String) throws {
        let new: [CFString: Any] = [
            kSecValueData: secret, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(query(name) as CFDictionary, new as CFDictionary)
        if status == errSecItemNotFound {
            status = unsafe SecItemAdd(query(name).merging(new) { $1 } as CFDictionary, nil)
        }
        if status == errSecDuplicateItem {
            // Another process of the app, such as an extension, has just added it.
            status = SecItemUpdate(query(name) as CFDictionary, new as CFDictionary)
        }
        try Self.check(status)
    }

    /// Erases a secret. Does nothing if there is none.
    ///
    /// - Throws: `NSError` of `NSOSStatusErrorDomain`, with the keychain's status.
    public func erase(named name: String) throws {
        let status = SecItemDelete(query(name) as CFDictionary)
        if status != errSecItemNotFound { try Self.check(status) }
    }

    private func query(_ name: String) -> [CFString: Any] {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: name,
        ]
        if let accessGroup {
            query[kSecAttrAccessGroup] = accessGroup
            // On macOS only the data protection keychain has access groups.
            query[kSecUseDataProtectionKeychain] = true
        }
        return query
    }

    private static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw error(status) }
    }

    private static func error(_ status: OSStatus) -> NSError {
        NSError(domain: NSOSStatusErrorDomain, code: Int(status))
    }
}
#endif
