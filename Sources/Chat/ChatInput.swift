internal import Dispatch

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// What reaches the running chat, from all sides.
enum AppEvent: Sendable {
    case chat(ChatEvent)
    /// Something has changed of what the client shows.
    case changed
    /// Bytes from standard input; nil at its end.
    case input([UInt8]?)
    case resized
    /// The process was told to end.
    case terminated
    /// An effect that asked for an answer is done.
    case effectDone
    /// Nothing was typed for a moment: what stands there is to be kept.
    case paused
    /// All that came before is taken in: now it is to be shown.
    case draw
}

/// Brings standard input and signals into a stream of events. There is one at a time: two would share what is typed.
struct ChatInput {
    private let sources: [any DispatchSourceSignal]
    private let reading = DispatchGroup()
    private let end = ReadingEnd()

    /// Begins to read and to listen.
    init(_ sink: AsyncStream<AppEvent>.Continuation) {
        // Reading blocks, so it has a thread of its own.
        let end = end
        DispatchQueue(label: "postline.chat.input").async(group: reading) {
            while end.waitForInput() {
                guard let bytes = Terminal.read() else { return _ = sink.yield(.input(nil)) }
                sink.yield(.input(bytes))
            }
        }
        let queue = DispatchQueue(label: "postline.chat.signals")
        let signals: [(Int32, AppEvent)] = [
            (SIGWINCH, .resized), (SIGTERM, .terminated), (SIGHUP, .terminated), (SIGINT, .terminated),
        ]
        sources = signals.map { number, event in
            // The source sees the signal only if it does not end the process first.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { sink.yield(event) }
            source.resume()
            return source
        }
        // A reader of our output that goes away is seen by the write that fails.
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Stops reading and listening, once: what is typed from now on is somebody else's.
    func cancel() {
        for source in sources { source.cancel() }
        end.tell()
        // A reader that cannot be told does not keep the process from its end.
        _ = reading.wait(timeout: .now() + 1)
    }
}
