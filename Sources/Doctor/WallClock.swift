import FoundationEssentials

/// This machine's clock.
enum WallClock {
    /// Seconds since 1970.
    static var seconds: Double { Date.now.timeIntervalSince1970 }
}
