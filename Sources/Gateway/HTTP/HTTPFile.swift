package import NIOCore
import SystemPackage

/// A file that is an answer's body. It is open for as long as somebody holds this.
package final class HTTPFile: Sendable {
    private let file: SystemPackage.FileDescriptor

    /// In bytes.
    package let length: Int

    /// It waits for the disk.
    ///
    /// - Throws: where there is none.
    package init(path: String) throws {
        file = try .open(FilePath(path), .readOnly, options: [.closeOnExec])
        do {
            length = Int(try file.seek(offset: 0, from: .end))
        } catch {
            try? file.close()
            throw error
        }
    }

    /// So many bytes from there on, or fewer where it ends. It waits for the disk.
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
