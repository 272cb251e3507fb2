internal import SystemPackage

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Waits until what was written is on disk. Returns whether it is.
func sync(_ file: FileDescriptor) -> Bool { fsync(file.rawValue) == 0 }

/// Gives a file a further name, unless something has it. Returns whether it has it now.
func link(_ file: FilePath, _ name: FilePath) -> Bool {
    unsafe file.withPlatformString { file in unsafe name.withPlatformString { unsafe link(file, $0) } } == 0
}

/// Takes a file's name away.
func remove(_ file: FilePath) { _ = unsafe file.withPlatformString { unsafe unlink($0) } }
