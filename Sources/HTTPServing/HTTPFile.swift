package import NIOCore
import SystemPackage

/// An open file that is sent as a response's body. It closes when the object is released.
package final class HTTPFile: Sendable {
    private let file: SystemPackage.FileDescriptor

    /// The file's size in bytes.
    package let length: Int

    /// Opens a file. Blocks on the disk.
    ///
    /// - Throws: `Errno` if the file cannot be opened.
    package init(path: String) throws {
        file = try .open(FilePath(path), .readOnly, options: [.closeOnExec])
        do {
            length = Int(try file.seek(offset: 0, from: .end))
        } catch {
            try? file.close()
            throw error
        }
    }

    /// Returns up to `count` bytes from the offset, fewer at the end of the file. Blocks on the disk.
    package func bytes(from offset: Int, count: Int) throws -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        try unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            try unsafe file.read(
                fromAbsoluteOffset: Int64(offset), into: UnsafeMutableRawBufferPointer(rebasing: target.prefix(count)))
        }
        return buffer
    }

    deinit { try? file.close() }
}
