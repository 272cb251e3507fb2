public import Testing

/// A tag of a test: the requirements of `docs/features.md` (`A1`) and rows of `docs/guarantees.md` (`row 1`) that it
/// shows.
///
/// `scripts/docs` makes the pages' tables from the tags. `PublishedFeaturesTests` and `PublishedGuaranteesTests` compare
/// pages and tests.
public struct CoveredRequirements: TestTrait {
    let ids: [String]
}

extension Trait where Self == CoveredRequirements {
    /// Tags the test with the ids that it shows.
    public static func covers(_ ids: String...) -> Self { Self(ids: ids) }
}
