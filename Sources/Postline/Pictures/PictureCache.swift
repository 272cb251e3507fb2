import Foundation
import Foundations

/// The pictures of one user on disk. Files are written atomically; damaged ones are removed and count as missing.
actor PictureCache {
    nonisolated let folder: URL
    private let maxBytes: Int
    /// The files by name, or nil before the first use.
    private var files: LRUIndex<String>?
    private var isRetired = false

    init(folder: URL, maxBytes: Int) {
        self.folder = folder
        self.maxBytes = maxBytes
    }

    /// Returns the picture with this key, or nil if it is missing or damaged.
    func data(for key: String) -> Data? {
        loadIndex()
        let name = Self.name(for: key)
        let url = folder.appendingPathComponent(name)
        guard let file = try? Data(contentsOf: url) else { return nil }
        guard let data = Self.content(of: file, key: key) else {
            try? FileManager.default.removeItem(at: url)
            files?.remove(name)
            return nil
        }
        files?.touch(name)
        // The next launch evicts by this time.
        try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: url.path)
        return data
    }

    /// Stores a picture. A failure only means that it is loaded again.
    func insert(_ data: Data, for key: String) {
        guard !isRetired, !Task.isCancelled else { return }
        loadIndex()
        let name = Self.name(for: key)
        let file = Self.file(data, key: key)
        guard file.count <= maxBytes, (try? makeFolder()) != nil,
            (try? file.write(to: folder.appendingPathComponent(name), options: .atomic)) != nil
        else { return }
        remove(files?.insert(name, bytes: file.count) ?? [])
    }

    /// Deletes all pictures and stores no more.
    func retire() {
        isRetired = true
        files = nil
        try? FileManager.default.removeItem(at: folder)
    }

    private func makeFolder() throws {
        guard !FileManager.default.fileExists(atPath: folder.path) else { return }
        try FileManager.default.makePrivateFolder(folder)
        #if canImport(Darwin)
        // The pictures can be loaded again, so a backup does not need them.
        var folder = folder
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try folder.setResourceValues(values)
        #endif
    }

    private func loadIndex() {
        guard files == nil, !isRetired else { return }
        let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
        let found = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys)))
        let known = (found ?? []).map { url in
            let values = try? url.resourceValues(forKeys: keys)
            return (
                name: url.lastPathComponent, bytes: values?.fileSize ?? 0,
                use: values?.contentModificationDate ?? .distantPast
            )
        }
        var index = LRUIndex<String>(maxBytes: maxBytes)
        let evicted = known.sorted { $0.use < $1.use }.flatMap { index.insert($0.name, bytes: $0.bytes) }
        files = index
        remove(evicted)
    }

    private func remove(_ names: [String]) {
        for name in names { try? FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
    }

    // A file has a checksum of what follows, the key, a line end, and the picture. Keys with the same name replace each
    // other, since the key is compared.

    static func name(for key: String) -> String { checksum(Data(key.utf8)).hexadecimal }

    private static func file(_ data: Data, key: String) -> Data {
        let content = Data("\(key)\n".utf8) + data
        return Data(checksum(content).hexadecimal.utf8) + content
    }

    private static func content(of file: Data, key: String) -> Data? {
        let content = file.dropFirst(16)
        let head = Data("\(key)\n".utf8)
        guard content.starts(with: head), file.prefix(16).elementsEqual(checksum(content).hexadecimal.utf8) else {
            return nil
        }
        return Data(content.dropFirst(head.count))
    }

    /// Returns the FNV-1a hash of the bytes, and of their number.
    private static func checksum(_ data: Data) -> UInt64 {
        unsafe data.withUnsafeBytes { bytes in
            var hash: UInt64 = 14_695_981_039_346_656_037
            func add(_ value: UInt64) { hash = (hash ^ value) &* 1_099_511_628_211 }
            var offset = 0
            // Eight bytes at a time.
            while offset + 8 <= bytes.count {
                unsafe add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                hash ^= hash >> 32
                offset += 8
            }
            while offset < bytes.count {
                unsafe add(UInt64(bytes[offset]))
                offset += 1
            }
            add(UInt64(bytes.count))
            return hash
        }
    }
}

extension Store {
    /// The folder of the cached pictures. It is erased with the store, whose name it begins with.
    var pictureCacheFolder: URL { url.appendingPathExtension("pictures") }
}
