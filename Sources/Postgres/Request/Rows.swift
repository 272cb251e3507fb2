/// What one call answered: rows of text values, held as libpq received them.
///
/// A copy shares the memory; it is freed with the last one. It may be read from any thread.
public struct Rows: Sendable {
    private let result: SharedResult

    init(_ result: consuming ResultHandle) {
        self.result = SharedResult(result)
    }

    /// How many rows there are; 0 for a statement that returns none.
    public var count: Int { result.handle.rowCount }

    /// How many columns each row has.
    public var columnCount: Int { result.handle.columnCount }

    /// What the column is called, or nil where there is no such column.
    public func columnName(_ column: Int) -> String? { result.handle.columnName(column) }

    /// The value as a string, or nil for SQL null.
    ///
    /// - Precondition: the row and the column exist.
    public func text(_ row: Int, _ column: Int) -> String? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Gives `body` the value's bytes (UTF-8, not copied), or nil for SQL null.
    ///
    /// - Precondition: the row and the column exist.
    public func withBytes<Value, Failure: Error>(
        _ row: Int, _ column: Int, _ body: (RawSpan?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(row >= 0 && row < count && column >= 0 && column < columnCount, "no such row or column")
        return try result.handle.withBytes(row, column, body)
    }
}

/// The one owner of a result, shared by the copies of its `Rows`.
private final class SharedResult: Sendable {
    let handle: ResultHandle

    init(_ handle: consuming ResultHandle) { self.handle = handle }
}
