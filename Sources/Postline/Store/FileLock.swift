import Foundation
import NIOConcurrencyHelpers

/// An advisory lock between the processes that share a store (`flock`). The system releases it when its process ends.
///
/// Two locks of the same file exclude each other within a process too.
final class FileLock: Sendable {
    private let url: URL
    private let descriptor = NIOLockedValueBox<CInt?>(nil)

    init(_ url: URL) { self.url = url }

    deinit { unlock() }

    /// Takes the lock unless another process has it. Returns true if this object has it now.
    func tryLock() -> Bool {
        descriptor.withLockedValue { held in
            if held != nil { return true }
            // A child process would keep an inherited lock.
            let opened = unsafe open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard opened >= 0 else { return false }
            guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
                close(opened)
                return false
            }
            ftruncate(opened, 0)
            held = opened
            return true
        }
    }

    func unlock() {
        descriptor.withLockedValue { held in
            // It ends with its last descriptor.
            if let held { close(held) }
            held = nil
        }
    }

    var isHeld: Bool { descriptor.withLockedValue { $0 != nil } }

    /// Sets a mark that other processes can read while this one has the lock.
    func setMark(_ isMarked: Bool) {
        descriptor.withLockedValue { held in
            guard let held else { return }
            ftruncate(held, isMarked ? 1 : 0)
        }
    }

    /// True if the process with the lock has set its mark.
    var isMarked: Bool { FileIdentity(url)?.size == 1 }
}

/// The identity of a file and its last change, to detect that another process has replaced or changed it.
struct FileIdentity: Hashable {
    let inode: UInt64
    let size: Int64
    let seconds, nanoseconds: Int

    /// Nil if there is no file.
    init?(_ url: URL) {
        var status = stat()
        guard unsafe stat(url.path, &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Darwin)
        (seconds, nanoseconds) = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
        #else
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        #endif
    }
}
