internal import FoundationEssentials
public import Messaging

/// A JWK set in a file, read when it is first needed.
public struct KeySetFile: KeySetSource {
    private let path: String

    public init(_ path: String) { self.path = path }

    public func fetch() async throws -> FetchedKeySet {
        do {
            return FetchedKeySet(text: try String(contentsOfFile: path, encoding: .utf8), lifetime: nil)
        } catch {
            throw KeySetError("\(path) cannot be read")
        }
    }
}
