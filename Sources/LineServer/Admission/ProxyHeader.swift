import NIOCore

/// What a balancer says of a connection before the client's first byte: PROXY protocol, version 2 (HAProxy's
/// specification, section 2.2).
package struct ProxyHeader: Equatable {
    /// Where the client is; nil where the header leaves that to the socket: a health check of the balancer's own
    /// (`LOCAL`), or a client that did not come over TCP.
    let source: String?

    /// The largest header that is read, in bytes.
    static let maxBytes = 4_096

    /// Takes a header off the beginning of a stream.
    ///
    /// - Returns: nil while it is not whole; then nothing is taken.
    /// - Throws: as soon as it is known that this is none.
    static func read(from bytes: inout ByteBuffer) throws(ProxyHeaderError) -> ProxyHeader? {
        for (byte, expected) in zip(bytes.readableBytesView, signature) where byte != expected {
            throw .notAHeader
        }
        let start = bytes.readerIndex
        guard let versionAndCommand = bytes.getInteger(at: start + 12, as: UInt8.self) else { return nil }
        guard versionAndCommand >> 4 == 2 else { throw .notAHeader }
        guard let command = Command(rawValue: versionAndCommand & 0xF) else { throw .unexpectedValue }
        guard let family = bytes.getInteger(at: start + 13, as: UInt8.self) else { return nil }
        guard family >> 4 <= 3, family & 0xF <= 2 else { throw .unexpectedValue }
        guard let length = bytes.getInteger(at: start + 14, as: UInt16.self).map({ Int($0) }) else { return nil }
        guard Self.fixedBytes + length <= Self.maxBytes else { throw .tooLong }
        let addressBytes = Self.addressBytes(family)
        guard command == .local || length >= 2 * addressBytes + 4 || addressBytes == 0 else { throw .tooShort }
        guard bytes.readableBytes >= Self.fixedBytes + length else { return nil }
        let source = bytes.getSlice(at: start + Self.fixedBytes, length: addressBytes)
        bytes.moveReaderIndex(forwardBy: Self.fixedBytes + length)
        guard command == .proxy, addressBytes > 0, let source else { return ProxyHeader(source: nil) }
        return ProxyHeader(source: (try? SocketAddress(packedIPAddress: source, port: 0))?.peer)
    }

    private enum Command: UInt8 {
        case local = 0
        case proxy = 1
    }

    /// Signature, version and command, family, and the length of what follows.
    private static let fixedBytes = 16

    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// What a balancer says of a connection of its own (`LOCAL`): the socket's address is the client's.
    package static let local = signature + [0x20, 0, 0, 0]

    /// How many bytes one address has, of two, before the ports and whatever follows; 0 where none is of use.
    private static func addressBytes(_ family: UInt8) -> Int {
        switch family {
        case 0x11: 4
        case 0x21: 16
        default: 0
        }
    }
}

/// Why a connection does not begin with a PROXY header.
enum ProxyHeaderError: Error {
    /// It begins with something else, or with another version of it.
    case notAHeader

    /// The command, the family or the transport is none that the specification knows.
    case unexpectedValue

    /// It has no room for the addresses of its family.
    case tooShort

    /// It is larger than ``ProxyHeader/maxBytes``.
    case tooLong
}
