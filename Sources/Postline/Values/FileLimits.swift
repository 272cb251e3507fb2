/// The limits of the caches, the downloads and the outbox.
public struct FileLimits: Sendable, Hashable {
    /// The bytes of pictures to keep in memory. The default is 64 MiB.
    public var memoryBytes = 64 << 20
    /// The bytes of pictures to keep in the store's folder. The default is 256 MiB.
    public var diskBytes = 256 << 20
    /// The bytes of the largest picture to load or to send. The default is 32 MiB.
    public var pictureBytes = 32 << 20
    /// The bytes of the largest video, audio or other file to send. The default is that of the server, 100 MiB.
    public var fileBytes = 100 << 20
    /// The number of downloads of pictures at a time, at least one. The default is 4.
    public var concurrentDownloads = 4
    /// The number of files that may wait in the outbox, with their previews and those of refused messages. The default is
    /// that of the server for files that are not sent yet, 100.
    public var waitingFiles = 100
    /// The bytes of the files that may wait in the outbox, with their previews and those of refused messages. The default
    /// is that of the server for files that are not sent yet, 1 GiB.
    public var waitingBytes = 1 << 30

    /// Creates the default limits.
    public init() {}
}
