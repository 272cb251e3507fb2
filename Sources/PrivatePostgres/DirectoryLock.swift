#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The right to run a server on one directory, held by one process at a time and let go by the kernel when it dies.
struct DirectoryLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock at once or throws `inUse` with the number of the process that holds it.
    init(file: String, of directory: String) throws {
        // O_CLOEXEC: a program that we start must not keep the lock when we are gone.
        let opened = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard opened >= 0 else { throw unusable(directory) }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let holder = Self.text(of: opened)
            close(opened)
            if reason == EWOULDBLOCK { throw PrivatePostgresError.inUse(directory: directory, process: holder) }
            errno = reason
            throw unusable(directory)
        }
        descriptor = opened
        let note = "\(getpid())\n"
        ftruncate(descriptor, 0)
        // The bytes outlive the call; a note that could not be written costs the other process's message a number.
        _ = unsafe note.utf8.withContiguousStorageIfAvailable { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }

    deinit {
        // Let go by name: a child that another thread has just forked holds the descriptor too, until it runs its
        // program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func text(of descriptor: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            // At most the buffer's own size is read into it.
            let count = unsafe pread(descriptor, buffer.baseAddress, buffer.count, 0)
            let digits = unsafe buffer.prefix(max(0, count)).prefix { (0x30...0x39).contains($0) }
            return unsafe String(decoding: digits, as: UTF8.self)
        }
    }
}
