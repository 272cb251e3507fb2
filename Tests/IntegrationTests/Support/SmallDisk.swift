import BoundedWait
import Foundation

/// A file system of limited size in memory.
struct SmallDisk: Sendable {
    let directory: String

    /// True if this process may mount one, as unconfined root.
    static let isPermitted: Bool = {
        guard geteuid() == 0 else { return false }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        // In a separate mount namespace, which ends with the attempt.
        process.arguments = ["-c", "unshare -m mount -t tmpfs none /mnt"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    static func with<Value: Sendable>(
        megabytes: Int, _ body: @Sendable (SmallDisk) async throws -> Value
    ) async throws -> Value {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "postline-disk-\(UInt32.random(in: 0 ... .max))"
        ).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try await run("mount -t tmpfs -o size=\(megabytes)m,mode=0755 tmpfs \(directory)")
        // Lazily: a process of a killed server may still use it for a moment.
        let remove = "umount -l \(directory) && rmdir \(directory)"
        do {
            let value = try await body(SmallDisk(directory: directory))
            try await run(remove)
            return value
        } catch {
            try? await run(remove)
            throw error
        }
    }

    /// Fills the disk.
    func fill() async throws {
        // The write ends with "no space left", as intended.
        _ = try await Command.run(["-c", "cat /dev/zero >\(directory)/filler 2>/dev/null"], of: "/bin/sh")
    }

    /// Frees the space.
    func free() throws { try FileManager.default.removeItem(atPath: "\(directory)/filler") }

    private static func run(_ command: String) async throws {
        let result = try await Command.run(["-c", command], of: "/bin/sh")
        guard result.status == 0 else { throw TimeoutError(description: "\(command): \(result.errors)") }
    }
}
