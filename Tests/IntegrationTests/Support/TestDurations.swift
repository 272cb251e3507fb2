import Foundation
import Synchronization

/// The seconds for which the tests of each suite had a database.
///
/// `scripts/run-tests` keeps them in `.build/test-durations`. The test runner's times tell less, since it starts all
/// tests at once, and most of the time they wait for one of the few databases.
enum TestDurations {
    private static let seconds = Mutex<[String: Double]>([:])

    /// Adds to the time of a suite, and writes the times of all.
    static func add(_ duration: Duration, to suite: String) {
        let path = FileManager.default.temporaryDirectory.appending(path: "durations")
        seconds.withLock { seconds in
            seconds[suite, default: 0] += duration / .seconds(1)
            let lines = seconds.map { String(format: "%8.1f  %@\n", $0.value, $0.key) }
            try? lines.joined().write(to: path, atomically: true, encoding: .utf8)
        }
    }
}
