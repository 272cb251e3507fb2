import Foundation
import Testing

@testable import Commands

@Suite("Push settings")
struct PushSettingsTests {
    @Test("invalid or incomplete settings are named")
    func refused() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ text: String) throws -> String {
            let file = folder.appending(path: UUID().uuidString)
            try Data(text.utf8).write(to: file)
            return file.path
        }
        func sentence(_ change: (inout PushSources) throws -> Void) throws -> String {
            var sources = PushSources()
            try change(&sources)
            do {
                return try sources.settings() == nil ? "nothing" : "something"
            } catch {
                return error.description
            }
        }
        #expect(try sentence { _ in } == "nothing")
        #expect(
            try sentence { $0.apnsTopic = "com.example.app" }
                == "Apple's pushes need POSTLINE_PUSH_APNS_KEY_FILE too.")
        let apns = try sentence {
            ($0.apnsKeyFile, $0.apnsKeyID, $0.apnsTeamID, $0.apnsTopic) = (try file("no key"), "k", "t", "a")
        }
        #expect(apns == "POSTLINE_PUSH_APNS_KEY_FILE must be an APNs private key (a .p8 file: PEM, P-256).")
        #expect(
            try sentence { $0.fcmServiceAccountFile = folder.appending(path: "none").path }
                .hasPrefix("POSTLINE_PUSH_FCM_SERVICE_ACCOUNT_FILE cannot be used: "))
        #expect(
            try sentence { $0.fcmServiceAccountFile = try file("{}") }
                .hasPrefix("POSTLINE_PUSH_FCM_SERVICE_ACCOUNT_FILE must be a service account"))
        #expect(
            try sentence { $0.webhookURL = "https://example.com/hook" }
                == "POSTLINE_PUSH_WEBHOOK_URL needs POSTLINE_PUSH_WEBHOOK_SECRET, of at least 32 bytes.")
        #expect(
            try sentence { $0.webhookSecret = "x" }
                == "POSTLINE_PUSH_WEBHOOK_SECRET needs POSTLINE_PUSH_WEBHOOK_URL too.")
        for url in ["example.com", "ftp://example.com", "https://"] {
            #expect(
                try sentence { $0.webhookURL = url }
                    == "POSTLINE_PUSH_WEBHOOK_URL must be a URL that begins with https:// or http://.", "\(url)")
        }
        func texts(_ text: String) throws -> String {
            try sentence {
                $0.webhookURL = "https://example.com"
                $0.webhookSecret = String(repeating: "s", count: 32)
                $0.textsFile = try file(text)
            }
        }
        #expect(try texts(#"{"de": {"image": "Foto", "group_title": "{group}: {sender}"}}"#) == "something")
        #expect(try texts("[]").hasPrefix("POSTLINE_PUSH_TEXTS_FILE must be a JSON object of languages"))
        #expect(try texts(#"{"de": {"titel": "x"}}"#).contains(#"an unknown text "de.titel""#))
        #expect(
            try texts(#"{"de": {"body": "{sendr}"}}"#).contains(
                #"an unknown placeholder in "de.body"; use {sender}, {group}"#))
    }
}
