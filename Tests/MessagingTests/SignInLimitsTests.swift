import Testing

@testable import Messaging

@Suite("The bounds of signing in")
struct SignInLimitsTests {
    @Test("row 47: sixty attempts of one address, and another address has its own sixty")
    func addresses() throws {
        let limits = SignInLimits(isOn: true)
        for _ in 0..<60 { try limits.takeSignIn(from: "192.0.2.1") }
        let error = #expect(throws: ProtocolError.self) { try limits.takeSignIn(from: "192.0.2.1") }
        #expect(error?.code == .rateLimited)
        try limits.takeSignIn(from: "192.0.2.2")
    }

    @Test("row 47: five failures of one account, however many are tried at once; what succeeds is not counted")
    func accounts() async throws {
        let limits = SignInLimits(isOn: true)
        for _ in 0..<20 { try await limits.countingFailures(of: "good") { () throws(ProtocolError) in } }
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do throws(ProtocolError) {
                        try await limits.countingFailures(of: "bad") { () throws(ProtocolError) in
                            throw ProtocolError(.invalidCredentials, "Wrong.")
                        }
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .invalidCredentials } == 5)
        #expect(codes.count { $0 == .rateLimited } == 15)
    }

    @Test("off, nothing is bounded")
    func off() throws {
        let limits = SignInLimits(isOn: false)
        for _ in 0..<1_000 { try limits.takeSignIn(from: "192.0.2.1") }
    }
}
