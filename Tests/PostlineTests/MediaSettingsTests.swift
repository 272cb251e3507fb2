import Foundation
import Testing

import Messaging
@testable import Media
@testable import Commands

@Suite("Media settings")
struct MediaSettingsTests {
    private static let secret = String(repeating: "s", count: 32)

    /// Returns the error of these settings, or nil if they are valid.
    private static func refusal(jwtSecret: String? = secret, _ set: (inout MediaSources) -> Void) -> String? {
        var sources = MediaSources()
        set(&sources)
        do {
            _ = try sources.settings(jwtSecret: jwtSecret)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("a folder requires a public URL and a secret, by name")
    func folder() throws {
        #expect(Self.refusal { $0.directory = "/tmp/x" }?.contains("POSTLINE_MEDIA_URL") == true)
        for url in ["chat.example.com", "ftp://x", "https://", "https://x/?a=b"] {
            let refusal = Self.refusal { ($0.directory, $0.url) = ("/tmp/x", url) }
            #expect(refusal?.hasPrefix("POSTLINE_MEDIA_URL must be a URL") == true, "\(url)")
        }
        let unsigned = Self.refusal(jwtSecret: nil) { ($0.directory, $0.url) = ("/tmp/x", "https://x") }
        #expect(unsigned?.contains("POSTLINE_MEDIA_SECRET") == true)
        #expect(Self.refusal { ($0.directory, $0.url) = ("/tmp/x", "https://chat.example.com/") } == nil)
        #expect(Self.refusal { _ in } == nil)
        let settings = MediaSettings.folder(
            .init(
                directory: "/proc/nothing", url: "https://x", secret: Self.secret,
                limits: MediaLimits(pictures: 1, others: 1)))
        #expect { try settings.store() } throws: { "\($0)".hasPrefix("POSTLINE_MEDIA_DIR cannot be used") }
    }

    @Test("S3 requires all its settings and no folder, by name")
    func s3() throws {
        func set(_ sources: inout MediaSources) {
            sources.s3Endpoint = "https://s3.example.com"
            sources.s3Bucket = "pictures"
            sources.s3PublicURL = "https://cdn.example.com"
            sources.s3AccessKeyID = "id"
            sources.s3SecretAccessKey = "key"
        }
        #expect(Self.refusal(set) == nil)
        for (name, change) in [
            ("BUCKET", { (s: inout MediaSources) in s.s3Bucket = nil }), ("ENDPOINT", { s in s.s3Endpoint = nil }),
            ("PUBLIC_URL", { s in s.s3PublicURL = nil }), ("ACCESS_KEY_ID", { s in s.s3AccessKeyID = nil }),
            ("SECRET_ACCESS_KEY", { s in s.s3SecretAccessKey = nil }),
        ] {
            let refusal = Self.refusal {
                set(&$0)
                change(&$0)
            }
            #expect(refusal?.contains("POSTLINE_MEDIA_S3_\(name) too") == true, "\(refusal ?? "")")
        }
        let both = Self.refusal {
            set(&$0)
            $0.directory = "/tmp/x"
        }
        #expect(both?.contains("not both") == true)
    }

    @Test("signs AWS's example as documented")
    func signature() throws {
        let signature = S3Signature(
            region: "us-east-1", accessKeyID: "AKIAIOSFODNN7EXAMPLE",
            secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        let url = signature.url(
            "GET", host: "examplebucket.s3.amazonaws.com", path: "/test.txt", seconds: 86_400,
            at: Date(timeIntervalSince1970: 1_369_353_600))
        #expect(
            url == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }
}
