/// The limits of the caches, the downloads and the outbox of pictures.
public struct PictureLimits: Sendable, Hashable {
    /// The bytes of pictures to keep in memory. The default is 64 MiB.
    public var memoryBytes = 64 << 20
    /// The bytes of pictures to keep in the store's folder. The default is 256 MiB.
    public var diskBytes = 256 << 20
    /// The bytes of the largest picture to load or to send. The default is 32 MiB.
    public var pictureBytes = 32 << 20
    /// The number of downloads at a time, at least one. The default is 4.
    public var concurrentDownloads = 4
    /// The number of pictures that may wait in the outbox, refused ones included. The default is 100.
    public var waitingPictures = 100
    /// The bytes of the pictures that may wait in the outbox, refused ones included. The default is 256 MiB.
    public var waitingBytes = 256 << 20

    /// Creates the default limits.
    public init() {}
}
