import Foundations

/// A lock on a directory, held by one process at a time. The kernel releases it when the process ends.
struct DirectoryLock: ~Copyable {
    private let descriptor: Int32

    /// Acquires the lock without waiting.
    ///
    /// - Throws: `inUse` with the id of the process that holds it.
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
        // The bytes outlive the call. If the note cannot be written, the other process's message lacks an id.
        _ = unsafe note.utf8.withContiguousStorageIfAvailable { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }

    deinit {
        // Unlocked explicitly: a child that another thread has just forked inherits the descriptor until it executes
        // its program.
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
