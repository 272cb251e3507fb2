import FoundationEssentials
import Foundations
import LineServer
import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the certificate on SIGHUP, which certificate tools send after a renewal.
///
/// Open connections keep the certificate that they began with.
final class CertificateRenewal: Service {
    private let certificate: ServerCertificate
    private let signals: UnixSignalsSequence
    private let logger: Logger

    /// Traps SIGHUP: it no longer ends the process, and one that arrives before ``run()`` is not lost.
    init(of certificate: ServerCertificate, logger: Logger) async {
        self.certificate = certificate
        self.logger = logger
        signals = await UnixSignalsSequence(trapping: .sighup)
    }

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() {
            do {
                try certificate.reload()
                logger.notice("the certificate was reloaded")
                let validity = certificate.validity
                guard !validity.contains(Int(clamping: Date.now.wholeSeconds)) else { continue }
                logger.error(
                    "the certificate is not valid now: clients refuse the server",
                    metadata: [
                        "from": "\(Self.time(validity.lowerBound))", "until": "\(Self.time(validity.upperBound))",
                    ])
            } catch {
                logger.error(
                    "the certificate cannot be reloaded; the old one stays in use",
                    metadata: ["reason": "\(error.sentence)"])
            }
        }
    }

    private static func time(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }
}
