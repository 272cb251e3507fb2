import FoundationEssentials
import Foundations

/// The processor time of processes.
enum ProcessorTime {
    /// Returns the processor seconds of a process and its children, including those that have ended. Linux only.
    ///
    /// Source: proc_pid_stat(5).
    static func ofFamily(_ parent: Int32) throws -> Double {
        var ticks = 0
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(name),
                let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)
            else { continue }
            // The fields after the program's name, which may contain anything: state, parent and so on.
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
                .map { Int($0) ?? 0 }
            guard fields.count > 14 else { continue }
            if process == parent { ticks += fields[11...14].reduce(0, +) }
            if fields[1] == Int(parent) { ticks += fields[11...12].reduce(0, +) }
        }
        guard ticks > 0 else { throw BenchError("/proc does not say what process \(parent) has had.") }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
