public struct PasswordHasherBusy: Error { }
public final class PasswordHasher: Sendable { public init(threads: Int, queueLimit: Int) {}
 public func hash(_ password: String) async throws -> String { "" }
 public func verify(_ password: String, against phc: String) async throws -> Bool { true }
 public func verifyAgainstNothing(_ password: String) async throws -> Bool { false } }
