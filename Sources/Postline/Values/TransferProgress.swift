/// The progress of a download or upload.
public struct TransferProgress: Sendable, Hashable {
    /// The number of bytes that are transferred.
    public let completedBytes: Int
    /// The number of all bytes, or nil if the server does not report it.
    public let totalBytes: Int?

    /// The transferred part, from 0 to 1, or nil if the size is unknown.
    public var fractionCompleted: Double? {
        guard let totalBytes, totalBytes > 0 else { return nil }
        return min(1, Double(completedBytes) / Double(totalBytes))
    }
}
