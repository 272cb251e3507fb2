import Foundations
import SystemPackage

/// Flushes a file to disk (fsync). Returns true on success.
func sync(_ file: FileDescriptor) -> Bool { fsync(file.rawValue) == 0 }

/// Starts writing these bytes to disk, so that ``sync(_:)`` finds little left and does not delay the database's WAL.
func beginWriting(_ file: FileDescriptor, from offset: Int, count: Int) {
    #if os(Linux)
    // Linux starts to write dirty pages.
    _ = posix_fadvise(file.rawValue, offset, count, POSIX_FADV_DONTNEED)
    #endif
}

/// Returns the size of a file in bytes, or nil if it does not exist.
func fileSize(_ path: FilePath) -> Int? {
    guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else { return nil }
    defer { try? file.close() }
    return (try? file.seek(offset: 0, from: .end)).map { Int($0) }
}

/// Opens a partial file for this process alone, and creates it unless it exists. Nil if another process has it.
///
/// - Throws: `Errno`.
func openLocked(_ path: FilePath) throws -> FileDescriptor? {
    let file = try FileDescriptor.open(
        path, .readWrite, options: [.create, .closeOnExec], permissions: [.ownerReadWrite])
    // The lock ends with the descriptor, also if the process is killed.
    if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 { return file }
    try file.close()
    return nil
}

/// Ends the lock on a partial file, and closes it.
///
/// Closing alone does not end the lock while a process that is just being started has a copy of the descriptor.
func unlockAndClose(_ file: FileDescriptor) {
    _ = flock(file.rawValue, LOCK_UN)
    try? file.close()
}

/// Links a file under another name unless that exists. Returns true on success.
func link(_ file: FilePath, _ name: FilePath) -> Bool {
    unsafe file.withPlatformString { file in unsafe name.withPlatformString { unsafe link(file, $0) } } == 0
}

/// Creates an empty file unless it exists. Returns true if it was created.
///
/// File and name are on disk when this returns, so they survive a crash of the machine.
func mark(_ file: FilePath, in directory: FilePath) -> Bool {
    let options: SystemPackage.FileDescriptor.OpenOptions = [.create, .exclusiveCreate, .closeOnExec]
    guard
        let made = try? FileDescriptor.open(file, .writeOnly, options: options, permissions: [.ownerReadWrite]),
        let folder = try? FileDescriptor.open(directory, .readOnly, options: .closeOnExec)
    else { return false }
    defer {
        try? made.close()
        try? folder.close()
    }
    return sync(made) && sync(folder)
}

/// Returns the bytes available to this user on the folder's disk, or nil if unknown.
func freeBytes(at path: FilePath) -> Int? {
    var status = statvfs()
    guard unsafe path.withPlatformString({ unsafe statvfs($0, &status) }) == 0 else { return nil }
    let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflows ? .max : Int(clamping: bytes)
}

/// Unlinks a file.
func remove(_ file: FilePath) { _ = unsafe file.withPlatformString { unsafe unlink($0) } }
