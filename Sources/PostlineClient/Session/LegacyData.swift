/// What a former version of the app kept on this device in its own way, to be taken over once.
public protocol LegacyData: Sendable {
    /// Writes what there is into the user's data, and says whether there was something. What the user already has stays.
    ///
    /// - Throws: whatever it likes. Nothing is taken over then, and this is asked again at the next launch.
    func migrate(into edit: inout ProfileEdit) throws -> Bool
    /// Deletes it. It is called after all that was taken over is stored, and again at the next launch where it failed.
    func erase() throws
}
