import BoundedWait
import Foundation
import TestSupport
import Testing

/// A mail server of another vendor in a separate process. The recipient's name selects its response
/// (`Fixtures/mail_server.py`).
final class MailServer: Sendable {
    let command: Command
    let port: Int

    /// The server's use of TLS.
    enum Encryption: String {
        case never, offered, required, always
    }

    /// An event of the server.
    struct Received: Decodable, Sendable {
        let event: String
        let to: String?
        let sender: String?
        let data: String?
        let encrypted: Bool?
        let user: String?

        /// The unfolded headers by lower-case name.
        var headers: [String: String] {
            let head = (data ?? "").components(separatedBy: "\r\n\r\n")[0]
            let lines = head.replacingOccurrences(of: "\r\n ", with: " ").components(separatedBy: "\r\n")
            return Dictionary(
                lines.compactMap { line in
                    guard let colon = line.range(of: ": ") else { return nil }
                    return (line[..<colon.lowerBound].lowercased(), String(line[colon.upperBound...]))
                }, uniquingKeysWith: { $1 })
        }

        /// The decoded body.
        var text: String {
            let body = (data ?? "").components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
            guard headers["content-transfer-encoding"] == "quoted-printable" else { return body }
            var bytes: [UInt8] = []
            var rest = body.replacingOccurrences(of: "=\r\n", with: "").utf8[...]
            while let byte = rest.popFirst() {
                guard byte == 0x3D else {
                    bytes.append(byte)
                    continue
                }
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// The token in the body.
        var token: String? {
            text.firstMatch(of: /[0-9a-f]{64}/).map { String($0.output) }
        }
    }

    static func with<Value: Sendable>(
        port: Int = 0, _ encryption: Encryption = .never, certificates: TestCertificates? = nil, user: String? = nil,
        password: String? = nil, greeting: String? = nil, sender: String? = nil,
        _ body: @Sendable (MailServer) async throws -> Value
    ) async throws -> Value {
        var arguments = ["--port", "\(port)", "--encrypted", encryption.rawValue]
        if let certificates {
            arguments += ["--certificate", certificates.files.certificate, certificates.files.key]
        }
        if let user, let password { arguments += ["--user", user, "--password", password] }
        if let greeting { arguments += ["--greeting", greeting] }
        if let sender { arguments += ["--sender", sender] }
        let command = try Command(
            arguments, of: Repository.url("scripts/mail-server").path)
        defer { command.signal(SIGKILL) }
        let output = try await command.waitForOutput(#""event": "serving""#)
        let announced = output.firstMatch(of: /"port": ([0-9]+)/)
        return try await body(
            MailServer(command: command, port: try #require(announced.flatMap { Int($0.output.1) })))
    }

    private init(command: Command, port: Int) {
        self.command = command
        self.port = port
    }

    /// The events so far, in order.
    var received: [Received] {
        command.output.split(separator: "\n").compactMap {
            try? JSONDecoder().decode(Received.self, from: Data($0.utf8))
        }
    }

    /// Returns the accepted mails, to `address` if given.
    func mails(to address: String? = nil) -> [Received] {
        received.filter { $0.event == "mail" && (address == nil || $0.to == address) }
    }

    /// Waits for `count` accepted mails, and returns them.
    func mails(_ count: Int, to address: String? = nil) async throws -> [Received] {
        try await eventually("\(count) mails to \(address ?? "any address")") {
            let mails = mails(to: address)
            return mails.count < count ? nil : mails
        }
    }
}
