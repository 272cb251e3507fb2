internal import NIOCore
internal import Postgres

extension Rows {
    /// A value as the database wrote it, for a line; empty where it is null.
    func buffer(_ row: Int, _ column: Int) -> ByteBuffer {
        withBytes(row, column) { bytes in
            var buffer = ByteBuffer()
            if let bytes { buffer.writeBytes(bytes) }
            return buffer
        }
    }
}
