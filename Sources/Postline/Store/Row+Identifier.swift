import GRDB

/// Columns of ids.
extension Row {
    /// Returns the id in a column that is never null.
    func id<Object>(_ column: String) -> Identifier<Object> { Identifier(self[column] as String) }

    /// Returns the id in a column, or nil if it is null.
    func optionalID<Object>(_ column: String) -> Identifier<Object>? {
        (self[column] as String?).map { Identifier($0) }
    }
}
