import Crypto
import Foundations

/// A fingerprint that shows whether two nodes have the same secret, without disclosing it.
///
/// It helps an attacker no more than an access token, with which a guess of the secret can be checked too.
package enum SecretFingerprint {
    /// Returns eight hexadecimal digits.
    package static func of(_ secret: String) -> String {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.utf8)), info: Array("postline fingerprint".utf8),
            outputByteCount: 4)
        return unsafe key.withUnsafeBytes { unsafe Array($0) }.hexadecimal
    }
}
