internal import NIOCore

/// What each line of a client goes through, for `postline-bench hotpaths`.
package enum LineHotPaths {
    /// Cuts a stream, which comes in pieces of 1,400 bytes, into its lines, and gives how many there were.
    package static func framing(_ stream: String) -> () -> Int {
        var whole = ByteBuffer(string: stream)
        var pieces: [ByteBuffer] = []
        while let piece = whole.readSlice(length: min(1_400, whole.readableBytes)), piece.readableBytes > 0 {
            pieces.append(piece)
        }
        return { [pieces] in
            var framer = LineFramer(maxLineBytes: 65_536)
            var count = 0
            for piece in pieces {
                framer.feed(piece)
                while framer.next() != nil { count += 1 }
            }
            return count
        }
    }

    /// Reads one line as a request, and gives 1 where it is one.
    package static func envelope(_ line: String) -> () -> Int {
        let line = ByteBuffer(string: line)
        return {
            guard case .single(let item) = Envelope(line), case .success = item.content else { return 0 }
            return 1
        }
    }
}
