import BoundedWait
import Foundations

/// Tests the system of `docker-compose.yml` from a container within it.
///
/// It is a program and no test target, since a small image has no toolchain. With the argument `through-faults` it
/// tests what holds while services are stopped and killed (`ComposeConsole`); without it, everything else.
@main
struct ComposedTests {
    static func main() async {
        do {
            let system = try ComposedSystem.fromEnvironment()
            let isWithFaults = CommandLine.arguments.dropFirst() == ["through-faults"]
            let checks = isWithFaults ? [Check.throughFaults] : Check.all
            var violations = 0
            for check in checks {
                let start = ContinuousClock.now
                do {
                    try await within("all of it", limit: .seconds(300)) { try await check.run(system) }
                    printLine("✔ \(check.sentence) (\((ContinuousClock.now - start).components.seconds) s)")
                } catch {
                    violations += 1
                    printLine("✘ \(check.sentence)\n  \(error)")
                }
            }
            if !isWithFaults {
                printLine("- skipped, since only scripts/test-compose can: \(Check.throughFaults.sentence)")
            }
            printLine("\(checks.count - violations) of \(checks.count) guarantees hold.")
            exit(violations == 0 ? 0 : 1)
        } catch {
            printLine("composed-tests: \(error)")
            exit(78)
        }
    }
}

/// Prints a line at once, even if standard output is a pipe.
func printLine(_ text: String) {
    print(text)
    fflush(nil)
}
