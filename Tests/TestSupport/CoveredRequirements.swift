public import Testing

/// The requirements that a test covers, by their ids in `docs/features.md`.
///
/// `PublishedFeaturesTests` checks that each of their rows names the test, and vice versa.
public struct CoveredRequirements: TestTrait {
    let ids: [String]
}

extension Trait where Self == CoveredRequirements {
    /// Marks a test as covering requirements.
    public static func covers(_ ids: String...) -> Self { Self(ids: ids) }
}
