import Foundation
import NIOCore
import NIOPosix

/// The bytes of an upload, from an offset to the end of the file or of a part, which are read in pieces of 64 KiB.
final class UploadBody: Sendable {
    /// The first byte to send.
    let offset: Int
    /// The end of what is sent.
    let end: Int
    /// The size of the whole file.
    let total: Int
    private let source: Source

    private enum Source: Sendable {
        case data(Data)
        case file(FileHandle)
    }

    /// - Parameter end: The end of the part, or nil for that of the file.
    /// - Throws: ``PostlineError``, `invalid_params`, if the file cannot be read.
    init(_ content: FileContent, from offset: Int, to end: Int? = nil) throws {
        self.offset = offset
        do {
            total = try content.count
            self.end = end ?? total
            source =
                switch content {
                case .data(let data): .data(data)
                case .file(let url): .file(try FileHandle(forReadingFrom: url))
                }
        } catch {
            throw Self.unreadable("\(error)")
        }
    }

    /// Returns the part that begins at an offset. One call at a time.
    func part(at offset: Int, on loop: any EventLoop) -> EventLoopFuture<ByteBuffer> {
        let count = min(65_536, end - offset)
        switch source {
        case .data(let data):
            return loop.makeSucceededFuture(ByteBuffer(bytes: data.dropFirst(offset).prefix(count)))
        case .file(let handle):
            // A disk that is slow does not hold up the event loop.
            return NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
                do {
                    try handle.seek(toOffset: UInt64(offset))
                    if let part = try handle.read(upToCount: count), !part.isEmpty { return ByteBuffer(bytes: part) }
                } catch {
                    throw Self.unreadable("\(error)")
                }
                throw Self.unreadable("it is shorter than before")
            }
        }
    }

    func close() {
        if case .file(let handle) = source { try? handle.close() }
    }

    private static func unreadable(_ reason: String) -> PostlineError {
        PostlineError(
            .invalidParams, "The file cannot be read, so send it again: \(reason)", field: "attachments[]")
    }
}
