import NIOCore
package import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension ServerBootstrap {
    /// The options of the listening socket, most of which its connections inherit.
    package func listening(_ configuration: LineServer.Configuration) -> ServerBootstrap {
        var bootstrap =
            self
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: configuration.backlog)
            // Fixed, since the kernel would let a client send megabytes ahead, and all of it is read when the client
            // ends.
            .serverChannelOption(.socketOption(.so_rcvbuf), value: .init(configuration.receiveBufferBytes))
            .serverChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: UnpooledReceiveAllocator())
        #if os(Linux)
        // A peer that has vanished takes no bytes: the kernel gives it up after this, a little after we would have said
        // goodbye to one that only does not read.
        let userTimeoutSeconds = configuration.slowConsumerTimeout.components.seconds + 15
        bootstrap =
            bootstrap
            .serverChannelOption(
                .tcpOption(.init(rawValue: CInt(TCP_USER_TIMEOUT))), value: .init(clamping: userTimeoutSeconds * 1_000)
            )
            // The kernel takes no more than this ahead of what it has sent, so that one sees a slow client read: with
            // megabytes in the kernel a flight stood still for minutes that drained all the time.
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

/// Receive buffers that grow and shrink with what comes, each for one read.
///
/// NIO's pool would keep for every connection a buffer as large as its largest read; thousands of idle connections are
/// not to pay for what they once sent.
///
/// No read is large: all that came with one is done before the loop looks at its other sockets again, so that the lines
/// that so many connections have read in a turn are what somebody else's request waits for. With 60 that flood, and
/// reads of 64 KiB, that was a second.
private struct UnpooledReceiveAllocator: RecvByteBufferAllocator {
    private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 8_192)

    /// The first buffer is small: NIO keeps that one, though it does not use it again, for as long as the connection
    /// lives.
    private var isFirst = true

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        if isFirst { return allocator.buffer(capacity: 64) }
        return adaptive.buffer(allocator: allocator)
    }

    /// No size is a size that pooled buffers are brought to: there is no pool.
    func nextBufferSize() -> Int? { nil }

    /// Says each time that the next buffer may be larger, so that each read gets a new one.
    mutating func record(actualReadBytes: Int) -> Bool {
        if isFirst {
            isFirst = false
            return true
        }
        _ = adaptive.record(actualReadBytes: actualReadBytes)
        return true
    }
}
