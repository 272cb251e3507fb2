/// The result of a call: rows of text values, as libpq received them.
///
/// Copies share the memory, which is freed with the last one. Any thread may read them.
package struct Rows: Sendable {
    private let result: SharedResult

    init(_ result: consuming ResultHandle) {
        self.result = SharedResult(result)
    }

    /// The number of rows; 0 for a statement that returns none.
    package var count: Int { result.handle.rowCount }

    /// The number of columns.
    package var columnCount: Int { result.handle.columnCount }

    /// Returns the name of a column, or nil if it does not exist.
    package func columnName(_ column: Int) -> String? { result.handle.columnName(column) }

    /// Returns the value as a string, or nil for SQL null.
    ///
    /// - Precondition: the row and the column exist.
    package func text(_ row: Int, _ column: Int) -> String? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Passes the value's bytes (UTF-8, not copied), or nil for SQL null, to `body`.
    ///
    /// - Precondition: the row and the column exist.
    package func withBytes<Value, Failure: Error>(
        _ row: Int, _ column: Int, _ body: (RawSpan?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(row >= 0 && row < count && column >= 0 && column < columnCount, "no such row or column")
        return try result.handle.withBytes(row, column, body)
    }
}

/// The owner of a result, shared by copies of its `Rows`.
private final class SharedResult: Sendable {
    let handle: ResultHandle

    init(_ handle: consuming ResultHandle) { self.handle = handle }
}
