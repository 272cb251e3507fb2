import FoundationEssentials
import Foundations
import Metering
import Metrics

/// The resident memory of this process, measured at the time of a request. Only on Linux.
struct ProcessMemory: Sendable {
    static let metricHelp = ["process_resident_memory_bytes": "Resident memory of the process, in bytes."]

    private let meter: Meter

    init(_ registry: MetricsRegistry) {
        meter = Meter(label: "process_resident_memory_bytes", factory: registry)
    }

    func measure() {
        #if os(Linux)
        // The second number is the resident pages.
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return }
        meter.set(pages * Int(sysconf(CInt(_SC_PAGESIZE))))
        #endif
    }
}
