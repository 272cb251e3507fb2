/// Data of an older version of the app that the client migrates once.
public protocol LegacyData: Sendable {
    /// Copies the old data into the user's data. The user's existing values win.
    ///
    /// - Returns: True if there was data.
    /// - Throws: Any error. Nothing is migrated then, and the next launch tries again.
    func migrate(into edit: inout ProfileEdit) throws -> Bool
    /// Erases the old data. The client calls it after the migrated data is stored, and again at the next launch if it
    /// throws.
    func erase() throws
}
