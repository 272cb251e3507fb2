import Foundation
import Postline

@MainActor
struct Pushes {
    let client: PostlineClient

    func didRegister(token: Data) async throws {
        try await client.registerDevice(apnsToken: token)
    }

    func didReceive(userInfo: [AnyHashable: Any]) async throws -> Bool {
        let json = try JSONSerialization.data(withJSONObject: userInfo)
        return await client.receive(push: try JSONDecoder().decode([String: JSONValue].self, from: json))
    }
}
