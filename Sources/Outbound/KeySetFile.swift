package import Accounts
import FoundationEssentials

/// A JWK set in a file, read when it is first needed.
package struct KeySetFile: KeySetSource {
    private let path: String

    package init(_ path: String) { self.path = path }

    package func fetch() async throws -> FetchedKeySet {
        do {
            return FetchedKeySet(text: try String(contentsOfFile: path, encoding: .utf8), lifetime: nil)
        } catch {
            throw KeySetError("\(path) cannot be read")
        }
    }
}
