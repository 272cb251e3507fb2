import Foundations
import Dispatch

/// An event that the running chat handles.
enum AppEvent: Sendable {
    case chat(ChatEvent)
    /// The client's state has changed.
    case changed
    /// Bytes from standard input; nil at its end.
    case input([UInt8]?)
    case resized
    /// The process received a signal to end.
    case terminated
    /// An effect with a response has completed.
    case effectDone
    /// The user paused typing: the draft is saved.
    case paused
    /// All previous events are handled: the screen is drawn.
    case draw
}

/// Delivers standard input and signals as a stream of events. Only one may exist at a time, since two would share the
/// input.
struct ChatInput {
    private let sources: [any DispatchSourceSignal]
    private let reading = DispatchGroup()
    private let end = InputCancellation()

    /// Starts reading and handling signals.
    init(_ sink: AsyncStream<AppEvent>.Continuation) {
        // Reading blocks, so it has its own thread.
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
            // The source receives the signal only if it does not end the process first.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { sink.yield(event) }
            source.resume()
            return source
        }
        // If the reader of our output ends, the write fails instead.
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Stops reading and handling signals. Later input belongs to another reader.
    func cancel() {
        for source in sources { source.cancel() }
        end.cancel()
        // A reader that does not react must not keep the process from ending.
        _ = reading.wait(timeout: .now() + 1)
    }
}
