package import Testing

/// The requirements that a test covers, by their ids in `docs/features.md`.
///
/// `PublishedFeaturesTests` checks that each of their rows names the test, and vice versa.
package struct CoveredRequirements: TestTrait {
    let ids: [String]
}

extension Trait where Self == CoveredRequirements {
    /// Marks a test as covering requirements.
    package static func covers(_ ids: String...) -> Self { Self(ids: ids) }
}
