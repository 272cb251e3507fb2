import BoundedWait
import Foundation

/// A file system of so many bytes, in memory, to be filled up.
struct SmallDisk: Sendable {
    let directory: String

    /// True if this process may mount a disk: it is root, and not confined.
    static let isPermitted: Bool = {
        guard geteuid() == 0 else { return false }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        // In a mount namespace of the attempt's own, which ends with it.
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
        do {
            let value = try await body(SmallDisk(directory: directory))
            try await run("umount \(directory) && rmdir \(directory)")
            return value
        } catch {
            try? await run("umount -l \(directory) && rmdir \(directory)")
            throw error
        }
    }

    /// Takes all the room there is.
    func fill() async throws {
        // It ends with no space left, which is what it is for.
        _ = try await Command.run(["-c", "cat /dev/zero >\(directory)/filler 2>/dev/null"], of: "/bin/sh")
    }

    /// Gives the room back.
    func free() throws { try FileManager.default.removeItem(atPath: "\(directory)/filler") }

    private static func run(_ command: String) async throws {
        let result = try await Command.run(["-c", command], of: "/bin/sh")
        guard result.status == 0 else { throw NotInTime(description: "\(command): \(result.errors)") }
    }
}
