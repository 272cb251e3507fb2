#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files of a measurement.
enum BenchFiles {
    /// The temporary directory, below `TMPDIR` if set.
    static var temporaryDirectory: String {
        let process = ProcessInfo.processInfo
        var parent = process.environment["TMPDIR"] ?? ""
        while parent.hasSuffix("/") { parent.removeLast() }
        return "\(parent.isEmpty ? "/tmp" : parent)/postline-bench-\(process.processIdentifier)"
    }

    static func makeDirectory(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw BenchError("\(path) cannot be made.")
        }
    }

    static func write(_ text: String, to path: String) throws {
        do {
            try text.write(toFile: path, atomically: false, encoding: .utf8)
        } catch {
            throw BenchError("\(path) cannot be written.")
        }
    }

    static func read(_ path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw BenchError("\(path) cannot be read.")
        }
    }

    /// Returns the latencies in pgbench's log, which has a line per transaction: `client number microseconds script
    /// epoch microseconds`.
    static func latencies(prefix: String) throws -> [Duration] {
        guard let slash = prefix.lastIndex(of: "/") else { return [] }
        let directory = String(prefix[..<slash])
        let name = prefix[prefix.index(after: slash)...]
        var latencies: [Duration] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: directory) where file.hasPrefix(name) {
            let text = try String(contentsOfFile: "\(directory)/\(file)", encoding: .utf8)
            for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
                let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
                guard fields.count > 2, let microseconds = Int(Substring(fields[2])) else { continue }
                latencies.append(.microseconds(microseconds))
            }
        }
        return latencies
    }

    static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
