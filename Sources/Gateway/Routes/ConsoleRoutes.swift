import HTTPServing
import NIOCore
import NIOHTTP1
import WireProtocol

/// A file of the console that the build embeds.
struct ConsoleFile: Sendable {
    let path: String
    let text: String

    var type: String {
        switch path.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }
}

extension Console {
    /// The page at `/`, its files below `/console/`, and those of the JavaScript package below `/console/client/`.
    var routes: [Route] {
        let config = JSONObject([.init(name: "people", value: .array(demoAccounts.map(\.json)))])
        let policy = Self.contentSecurityPolicy(pictureOrigins)
        return [
            Route(.GET, "/", query: .any) { _ throws(ProtocolError) in try Self.file("index.html", policy) },
            Route(.GET, "/console/config.json", query: .any) { _ throws(ProtocolError) in .json(config) },
            Route(.GET, "/console/{file}", query: .any) { context throws(ProtocolError) in
                try Self.file(context.pathParameters["file"] ?? "", policy)
            },
            Route(.GET, "/console/client/{file}", query: .any) { context throws(ProtocolError) in
                try Self.file("client/\(context.pathParameters["file"] ?? "")", policy)
            },
        ]
    }

    /// Returns a Content-Security-Policy that allows this server and the origins of pictures, and no frames.
    private static func contentSecurityPolicy(_ pictures: [String]) -> String {
        let pictures = pictures.map { " \($0)" }.joined()
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:\(pictures); "
            + "media-src 'self' blob:\(pictures); connect-src 'self'\(pictures); base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    private static let files = Dictionary(uniqueKeysWithValues: ConsoleFile.embedded.map { ($0.path, $0) })

    private static func file(_ path: String, _ policy: String) throws(ProtocolError) -> HTTPResponse {
        guard let file = files[path] else { throw ProtocolError(.notFound, "The console has no file of this name.") }
        return HTTPResponse(
            .ok,
            [
                "Content-Type": file.type, "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
                // Browsers revalidate each file, so that after an upgrade all files have the same version.
                "Cache-Control": "no-cache",
            ], body: ByteBuffer(string: file.text))
    }
}

extension Console.DemoAccount {
    fileprivate var json: JSON {
        .object([
            "user_id": .string(userID), "email": .string(email), "password": .string(password),
            "full_name": .string(fullName),
        ])
    }
}
