import BoundedWait
import Foundation
import Messaging
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension TestHTTPResponse {
    /// Calls a method over HTTP.
    ///
    /// - Parameters:
    ///   - params: A JSON object.
    ///   - token: An access token, or nil without authentication.
    static func call(
        _ method: String, _ params: String = "{}", token: String? = nil, port: Int
    ) async throws -> TestHTTPResponse {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/v1/\(method)")))
        request.httpMethod = "POST"
        request.httpBody = Data(params.utf8)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await within("the answer of \(method)") { [request] in
            try await URLSession.shared.data(for: request)
        }
        let answer = try #require(response as? HTTPURLResponse)
        return TestHTTPResponse(
            status: answer.statusCode, type: answer.value(forHTTPHeaderField: "Content-Type") ?? "",
            body: String(decoding: data, as: UTF8.self))
    }
}
