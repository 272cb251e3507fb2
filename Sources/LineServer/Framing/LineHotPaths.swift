import NIOCore

/// The per-line work of the server, for `postline-bench hotpaths`.
package enum LineHotPaths {
    /// Returns a function that cuts the stream, in chunks of 1,400 bytes, into lines and returns their number.
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

    /// Returns a function that parses the line and returns 1 if it is a request.
    package static func envelope(_ line: String) -> () -> Int {
        let line = ByteBuffer(string: line)
        return {
            guard case .single(let item) = Envelope(line), case .success = item.content else { return 0 }
            return 1
        }
    }
}
