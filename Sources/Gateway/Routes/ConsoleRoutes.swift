import Messaging
import NIOCore
import NIOHTTP1

/// A file of the console's page, as the build embeds it.
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
    /// The page at `/`, and what it is made of below `/console/`.
    var routes: [Route] {
        let config = JSONObject([.init(name: "people", value: .array(people.map(\.json)))])
        let policy = Self.policy(pictureOrigins)
        return [
            Route(.GET, "/", query: .any) { _ throws(ProtocolError) in try Self.file("index.html", policy) },
            Route(.GET, "/console/config.json", query: .any) { _ throws(ProtocolError) in .json(config) },
            Route(.GET, "/console/{file}", query: .any) { exchange throws(ProtocolError) in
                try Self.file(exchange.captures["file"] ?? "", policy)
            },
        ].map { route in
            var route = route
            route.usesSession = false
            return route
        }
    }

    /// Nothing but what comes from this server, or where its pictures are, and nobody's frame.
    private static func policy(_ pictures: [String]) -> String {
        let pictures = pictures.map { " \($0)" }.joined()
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:\(pictures); "
            + "connect-src 'self'\(pictures); base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    private static let files = Dictionary(uniqueKeysWithValues: ConsoleFile.embedded.map { ($0.path, $0) })

    private static func file(_ path: String, _ policy: String) throws(ProtocolError) -> HTTPAnswer {
        guard let file = files[path] else { throw ProtocolError(.notFound, "The console has no such file.") }
        return HTTPAnswer(
            .ok,
            [
                "Content-Type": file.type, "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
                // A browser asks each time: after an upgrade the page is of one piece.
                "Cache-Control": "no-cache",
            ], body: ByteBuffer(string: file.text))
    }
}

extension Console.Person {
    fileprivate var json: JSON {
        .object([
            "user_id": .string(userID), "email": .string(email), "password": .string(password),
            "full_name": .string(fullName),
        ])
    }
}
