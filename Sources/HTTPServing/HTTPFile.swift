package import NIOCore
import NIOHTTP1
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

extension HTTPResponse {
    /// The number of bytes that are sent of the file; nil without a file.
    var fileLength: Int? { file.map { fileRange?.count ?? $0.length } }

    /// Makes a file the body of a response to GET or HEAD, or the part of it that the request asks for, unless the client
    /// has it already (RFC 9110, sections 13 and 14).
    ///
    /// - Parameter tag: the strong entity tag of the file, in quotes. The file never changes.
    /// - Returns: false if the request asks for a part after the end of the file, which is the status 416.
    package mutating func setFile(_ file: HTTPFile, tag: String, for request: HTTPRequest) -> Bool {
        headers.replaceOrAdd(name: "ETag", value: tag)
        headers.replaceOrAdd(name: "Accept-Ranges", value: "bytes")
        let known = request.headers[canonicalForm: "If-None-Match"].map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0 }
        if known.contains("*") || known.contains(tag[...]) {
            status = .notModified
            return true
        }
        self.file = file
        // Ranges are defined for GET alone.
        guard request.method == .GET else { return true }
        switch ByteRange(
            request.headers["Range"], ifRange: request.headers["If-Range"], of: file.length, tag: tag)
        {
        case .whole: return true
        case .part(let range):
            status = .partialContent
            headers.replaceOrAdd(
                name: "Content-Range", value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.length)")
            fileRange = range
            return true
        case .unsatisfiable: return false
        }
    }
}
