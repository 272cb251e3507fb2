public import Testing

/// The requirements that a test shows, by their ids in `docs/features.md`.
///
/// The page names the test in each of their rows. `PublishedFeaturesTests` reads both and holds them against each other.
public struct CoveredRequirements: TestTrait {
    let ids: [String]
}

extension Trait where Self == CoveredRequirements {
    /// The test shows these requirements.
    public static func covers(_ ids: String...) -> Self { Self(ids: ids) }
}
