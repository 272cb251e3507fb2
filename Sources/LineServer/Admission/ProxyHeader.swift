import NIOCore

/// The header that a balancer sends before the client's first byte: PROXY protocol, version 2 (HAProxy's specification,
/// section 2.2).
package struct ProxyHeader: Equatable {
    /// The client's address. It is nil if the socket's address applies: for a health check by the balancer (`LOCAL`),
    /// or a client that did not use TCP over IP.
    let source: String?

    /// The maximum header size in bytes.
    static let maxBytes = 4_096

    /// Reads a header off the beginning of a stream.
    ///
    /// - Returns: nil if the header is incomplete. Then nothing is consumed.
    /// - Throws: as soon as the bytes cannot be a header.
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

    /// The size of signature, version and command, family, and length of the rest.
    private static let fixedBytes = 16

    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// The header of a balancer's own connection (`LOCAL`), for which the socket's address applies.
    package static let local = signature + [0x20, 0, 0, 0]

    /// Returns the size of each of the two addresses, in bytes, or 0 if the family has no usable ones.
    private static func addressBytes(_ family: UInt8) -> Int {
        switch family {
        case 0x11: 4
        case 0x21: 16
        default: 0
        }
    }
}

/// An error in a PROXY header.
enum ProxyHeaderError: Error {
    /// The stream begins with something else, or another version of the header.
    case notAHeader

    /// The specification does not define the command, family or transport.
    case unexpectedValue

    /// The length leaves no room for the addresses of the family.
    case tooShort

    /// The header exceeds ``ProxyHeader/maxBytes``.
    case tooLong
}
