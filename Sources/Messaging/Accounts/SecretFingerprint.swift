internal import Crypto

/// What tells whether two nodes have the same secret, without telling it.
///
/// It gives nothing away that an access token does not: that, too, holds a guess at a secret against the secret.
public enum SecretFingerprint {
    /// Eight hexadecimal digits.
    public static func of(_ secret: String) -> String {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(secret.utf8)), info: Array("postline fingerprint".utf8),
            outputByteCount: 4)
        return unsafe key.withUnsafeBytes { unsafe Array($0) }.hexadecimal
    }
}
