import Foundations
import NIOCore
package import NIOPosix

extension ServerBootstrap {
    /// Sets the options of the listening socket, most of which its connections inherit.
    package func listening(_ configuration: LineServer.Configuration) -> ServerBootstrap {
        var bootstrap =
            self
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: configuration.backlog)
            // Fixed, since the kernel would let a client send megabytes ahead, all of which is read when the client
            // ends.
            .serverChannelOption(.socketOption(.so_rcvbuf), value: .init(configuration.receiveBufferBytes))
            .serverChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: UnpooledReceiveAllocator())
        #if os(Linux)
        // A vanished peer accepts no bytes. The kernel drops it shortly after the goodbye that a slow consumer would
        // get.
        let userTimeoutSeconds = configuration.slowConsumerTimeout.components.seconds + 15
        bootstrap =
            bootstrap
            .serverChannelOption(
                .tcpOption(.init(rawValue: CInt(TCP_USER_TIMEOUT))), value: .init(clamping: userTimeoutSeconds * 1_000)
            )
            // Bounds unsent bytes in the kernel, so that a slow client is seen reading: with megabytes there, a write
            // in flight that was draining showed no progress for minutes.
            .serverChannelOption(.tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))), value: 131_072)
            .serverChannelOption(.tcpOption(.init(rawValue: CInt(TCP_KEEPIDLE))), value: 60)
            .serverChannelOption(.tcpOption(.init(rawValue: CInt(TCP_KEEPINTVL))), value: 15)
            .serverChannelOption(.tcpOption(.init(rawValue: CInt(TCP_KEEPCNT))), value: 4)
        #endif
        return bootstrap
    }
}

let addressInUse = EADDRINUSE
let addressNotAvailable = EADDRNOTAVAIL
let permissionDenied = EACCES

/// An allocator of receive buffers that adapt to the input, each for one read.
///
/// NIO's pool would keep a buffer as large as the largest read for every connection, also for thousands of idle ones.
///
/// Reads are small, because all input of a read is processed before the loop polls its other sockets, and other
/// requests wait for the lines of all reads in a turn. With 60 flooding connections and reads of 64 KiB, that took a
/// second.
private struct UnpooledReceiveAllocator: RecvByteBufferAllocator {
    private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 8_192)

    /// True until the first buffer, which is small: NIO keeps it for the life of the connection without reusing it.
    private var isFirst = true

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        if isFirst { return allocator.buffer(capacity: 64) }
        return adaptive.buffer(allocator: allocator)
    }

    /// Returns nil, since there is no pool whose buffers need resizing.
    func nextBufferSize() -> Int? { nil }

    /// Returns true, so that NIO allocates a new buffer for each read.
    mutating func record(actualReadBytes: Int) -> Bool {
        if isFirst {
            isFirst = false
            return true
        }
        _ = adaptive.record(actualReadBytes: actualReadBytes)
        return true
    }
}
