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

    /// A UUID; nil where it is null.
    func id(_ row: Int, _ column: Int) -> ID? { text(row, column).flatMap { ID($0) } }

    /// The number that a function returned.
    func count(of function: String) throws(ProtocolError) -> Int {
        guard count == 1, let number = text(0, 0).flatMap({ Int($0) }) else {
            throw .fault("\(function) returned no number")
        }
        return number
    }
}

extension String {
    /// The elements of a PostgreSQL array of plain values: `{a,b}`.
    var arrayElements: [Substring] { dropFirst().dropLast().split(separator: ",") }
}
