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

/// Takes a file's name away.
func remove(_ file: FilePath) { _ = unsafe file.withPlatformString { unsafe unlink($0) } }
