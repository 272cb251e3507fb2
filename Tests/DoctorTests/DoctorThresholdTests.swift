@testable import Accounts
import Foundation
import TestSupport
import Testing

@testable import Doctor

/// Tests thresholds that a test database cannot reach: other clocks, old versions, old ids, full queues.
@Suite("postline doctor: thresholds")
struct DoctorThresholdTests {
    @Test("warns of clocks more than two seconds apart")
    func clock() {
        #expect(ServerCheck.clock(ahead: 1.9, give: 0).level == .ok)
        #expect(ServerCheck.clock(ahead: 2.5, give: 0.001).level == .warning)
        #expect(ServerCheck.clock(ahead: -2.5, give: 0.001).message.contains("2.5 s behind"))
        #expect(ServerCheck.clock(ahead: 2.5, give: 1).level == .ok)
    }

    @Test("fails before PostgreSQL 15, and warns of untested versions")
    func version() {
        #expect(ServerCheck.version(140_018, "14.18").level == .problem)
        #expect(ServerCheck.version(150_000, "15.0").level == .ok)
        let untested = ServerCheck.version(160_010, "16.10")
        #expect(untested.level == .warning)
        #expect(untested.message.contains("not tested with PostgreSQL 16.10"), "\(untested)")
        #expect(untested.advice.contains("PostgreSQL 15, 17, 18"), "\(untested)")
        #expect(ServerCheck.version(170_011, "17.11").level == .ok)
        #expect(ServerCheck.version(180_006, "18.6").level == .ok)
        #expect(ServerCheck.version(190_000, "19beta1").level == .warning)
    }

    @Test(
        "lists the tested versions in the documents",
        arguments: ["README.md", "CONTRIBUTING.md", "docs/operations.md"])
    func testedVersions(document: String) throws {
        let text = try Repository.text(document)
        let tested = ServerCheck.testedVersions.map(String.init).joined(separator: ", ")
        #expect(text.contains("tested with \(tested)"), "tested with \(tested)")
    }

    @Test("applies the tightest connection limit, without a running node's own")
    func connections() {
        let loose = SlotCheck.finding([("one", 97, 20), ("other", -1, 500)], needed: 11, isServing: false)
        #expect(loose.level == .ok)
        #expect(loose.message.contains("77 of 97 connections are free (one), and a node takes 11"))
        let bounds = [(name: "one", allowed: 97, used: 20), (name: "other", allowed: 30, used: 20)]
        let tight = SlotCheck.finding(bounds, needed: 11, isServing: false)
        #expect(tight.level == .problem)
        #expect(tight.advice.contains("Raise other"))
        #expect(SlotCheck.finding(bounds, needed: 11, isServing: true).level == .warning)
        #expect(SlotCheck.finding(bounds, needed: 10, isServing: false).level == .ok)
    }

    @Test("warns of unfrozen ids long before they run out")
    func ids() {
        #expect(UpkeepCheck.age("ids", 199_000_000, freezing: 200_000_000).level == .ok)
        #expect(UpkeepCheck.age("ids", 600_000_000, freezing: 200_000_000).level == .warning)
        #expect(UpkeepCheck.age("ids", 1_700_000_000, freezing: 200_000_000).level == .problem)
    }

    @Test("warns before the notification queue is full")
    func queue() {
        #expect(UpkeepCheck.queue(0.01).level == .ok)
        #expect(UpkeepCheck.queue(0.2).level == .warning)
        #expect(UpkeepCheck.queue(0.6).level == .problem)
    }

    @Test("reports a stalled, unrelated, unprotected or cancelling standby")
    func replica() {
        func levels(
            isSame: Bool = true, isStandby: Bool = true, isAbove: Bool = false, hasFeedback: Bool = true,
            lag: Double = 0
        ) -> [Finding.Level] {
            ReplicaCheck.findings(
                isSameDatabase: isSame, isStandby: isStandby, bypassesRLS: isAbove, hasFeedback: hasFeedback,
                lag: lag
            ).map(\.level)
        }
        #expect(levels() == [.ok])
        #expect(levels(lag: -1_000) == [.ok], "the standby may be ahead of the measured position")
        #expect(levels(isSame: false) == [.problem])
        #expect(levels(isStandby: false) == [.problem])
        #expect(levels(isAbove: true) == [.problem])
        #expect(levels(hasFeedback: false) == [.warning])
        #expect(levels(hasFeedback: false, lag: 8) == [.warning, .warning])
    }

    @Test("warns of forced or early checkpoints, and names a max_wal_size")
    func checkpoints() {
        let gibibyte = 1_073_741_824.0
        // A day at 100 KB a second, and at 5 MB a second.
        let day = 86_400.0
        let quiet = LogCheck.checkpoints(everySeconds: 300, most: gibibyte, written: 1e5 * day, seconds: day)
        #expect(quiet.level == .ok)
        let busy = LogCheck.checkpoints(everySeconds: 300, most: gibibyte, written: 5e6 * day, seconds: day)
        #expect(busy.level == .warning)
        #expect(busy.message.contains("in 300 s there are 1430 MB of log"), "\(busy)")
        #expect(busy.advice.contains("max_wal_size to 5GB"), "\(busy)")
        let raised = LogCheck.checkpoints(everySeconds: 300, most: 5 * gibibyte, written: 5e6 * day, seconds: day)
        #expect(raised.level == .ok, "the advised size is enough: \(raised)")
        // A minute of a bulk load on an otherwise idle server.
        #expect(LogCheck.checkpoints(everySeconds: 300, most: gibibyte, written: 1e9, seconds: 60).level == .ok)
        let hasty = LogCheck.checkpoints(everySeconds: 30, most: gibibyte, written: 0, seconds: 0)
        #expect(hasty.level == .warning)
        #expect(hasty.advice.contains("checkpoint_timeout"))
    }

    @Test("warns of uncompressed full-page images that dominate the WAL")
    func pages() {
        let reported = LogCheck.pages(15e9, of: 20e9, compression: "off")
        #expect(reported.level == .warning)
        #expect(reported.message.contains("75 %"), "\(reported)")
        #expect(reported.advice.contains("wal_compression to lz4"))
        #expect(LogCheck.pages(15e9, of: 20e9, compression: "pglz").level == .ok)
        #expect(LogCheck.pages(5e9, of: 20e9, compression: "off").level == .ok)
        #expect(LogCheck.pages(1e9, of: 1e9, compression: "off").level == .ok)
        #expect(LogCheck.pages(0, of: 0, compression: "off").level == .ok)
    }

    @Test("warns two weeks before a certificate expires")
    func certificate() {
        let day = 86_400.0
        // 15 January 2026, noon.
        let now = 1_768_478_400.0
        let good = ConfigurationCheck.validity(until: now + 15 * day, now: now)
        #expect(good.level == .ok)
        #expect(good.message.contains("valid until 2026-01-30"), "\(good.message)")
        let late = ConfigurationCheck.validity(until: now + 13 * day, now: now)
        #expect(late.level == .warning)
        #expect(late.advice.contains("SIGHUP"))
        #expect(ConfigurationCheck.validity(until: now - 1, now: now).level == .problem)
    }

    @Test("rejects a secret of one repeated character")
    func secrecy() {
        #expect(ConfigurationCheck.secrecy(of: String(repeating: "x", count: 64)).level == .warning)
        #expect(ConfigurationCheck.secrecy(of: "3f1b9c0d7a5e48621f0b9c8d7a6e5f42").level == .ok)
    }

    @Test("shows a short fingerprint that differs for each secret")
    func fingerprint() {
        let secret = "3f1b9c0d7a5e48621f0b9c8d7a6e5f42"
        let reported = ConfigurationCheck.secrecy(of: secret).message
        #expect(reported.hasSuffix("is \(SecretFingerprint.of(secret))."), "\(reported)")
        #expect(SecretFingerprint.of(secret).wholeMatch(of: #/[0-9a-f]{8}/#) != nil)
        #expect(!secret.contains(SecretFingerprint.of(secret)))
        #expect(SecretFingerprint.of(secret + "0") != SecretFingerprint.of(secret))
    }
}
