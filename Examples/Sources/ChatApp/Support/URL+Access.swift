import Foundation

extension [URL] {
    /// Runs a body with access to files that the user has chosen in the file importer.
    @MainActor
    func withAccess(_ body: @MainActor () async throws -> Void) async throws {
        #if canImport(Darwin)
        let opened = filter { $0.startAccessingSecurityScopedResource() }
        defer { for url in opened { url.stopAccessingSecurityScopedResource() } }
        #endif
        try await body()
    }
}
