import Foundation

extension FileManager {
    /// Makes a folder, where there is none, that nobody but its user can look into.
    func makePrivateFolder(_ folder: URL) throws {
        try createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
