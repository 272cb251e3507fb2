internal import SystemPackage

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Waits until what was written is on disk. Returns whether it is.
func sync(_ file: FileDescriptor) -> Bool { fsync(file.rawValue) == 0 }

/// Has the disk begin to write these bytes of a file, so that ``sync(_:)`` finds little left and holds up nobody's log.
func beginWriting(_ file: FileDescriptor, from offset: Int, count: Int) {
    #if os(Linux)
    // Of pages that are not on disk yet, Linux begins to write them.
    _ = posix_fadvise(file.rawValue, offset, count, POSIX_FADV_DONTNEED)
    #endif
}

/// Gives a file a further name, unless something has it. Returns whether it has it now.
func link(_ file: FilePath, _ name: FilePath) -> Bool {
    unsafe file.withPlatformString { file in unsafe name.withPlatformString { unsafe link(file, $0) } } == 0
}

/// Makes an empty file that stays, unless there is one of its name. Returns whether it was made.
///
/// It is on disk, with its name, when this returns: also after a crash of the machine.
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

/// Returns how many bytes there are for files of this user on the disk of a folder, or nil if that cannot be found out.
func freeBytes(at path: FilePath) -> Int? {
    var status = statvfs()
    guard unsafe path.withPlatformString({ unsafe statvfs($0, &status) }) == 0 else { return nil }
    let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflows ? .max : Int(clamping: bytes)
}

/// Takes a file's name away.
func remove(_ file: FilePath) { _ = unsafe file.withPlatformString { unsafe unlink($0) } }
