internal import PostlineClient

/// The chat as lines: commands and texts come in on standard input, what happens goes out on standard output.
///
/// A line is done before the next is looked at, so that a script may open a conversation and write into it. At the
/// input's end the chat waits until all is delivered, and ends.
@MainActor
struct LineChat {
    let effects: ChatEffects
    let events: AsyncStream<AppEvent>
    let sink: AsyncStream<AppEvent>.Continuation
    let isTemporary: Bool

    /// Runs until the input ends or the person leaves.
    func run() async -> Ending {
        let input = ChatInput(sink)
        defer { input.cancel() }
        let depth = Terminal.colorDepth
        let format = LineFormat(showsAvatars: depth != .none)
        let echo = Echo()
        defer { echo?.isOn = true }
        let effects = effects
        let sink = sink
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            var state = State(model: ChatModel(isTemporary: isTemporary))
            sink.yield(.changed)
            for await event in events {
                // What has changed before an answer is shown before it.
                var outputs = look(&state)
                switch event {
                case .changed: break
                case .chat(let event): outputs += state.model.handle(event)
                case .input(let bytes?): state.take(bytes)
                case .input(nil): state.endInput()
                case .terminated: return await leave()
                case .effectDone: state.waiting -= 1
                case .resized, .paused, .draw: break
                }
                while true {
                    outputs += state.model.sawNewest()
                    for output in outputs {
                        switch output {
                        case .notice(let notice):
                            for line in format.lines(notice, state.model) {
                                guard Terminal.write(line.encoded(depth) + "\n") else { return await leave() }
                            }
                            if case .link(.ended(let reason)) = notice {
                                return .broken(reason, wasOnline: state.model.wasOnline)
                            }
                        case .effect(.quit(let farewell)):
                            if let farewell { Terminal.write("* \(farewell)\n") }
                            state.endInput(byWish: true)
                        case .effect(let effect):
                            if await effects.store(effect) { continue }
                            state.waiting += 1
                            group.addTask {
                                await effects.perform(effect)
                                sink.yield(.effectDone)
                            }
                        }
                    }
                    echo?.isOn = state.model.question?.isSecret != true
                    // What was stored is shown before what follows it is done.
                    outputs = look(&state)
                    if outputs.isEmpty {
                        guard let next = state.next() else { break }
                        outputs = next
                    }
                }
                if state.isDone { return await leave() }
            }
            return await leave()
        }
    }

    private func look(_ state: inout State) -> [ChatOutput] {
        var outputs: [ChatOutput] = []
        while let shown = effects.view.news(following: state.model.followed) {
            outputs += state.model.handle(.shows(shown))
            // The world is there: at once where the device has one.
            if !state.model.isFilling, state.isListDue {
                state.isListDue = false
                outputs.append(.notice(.conversations))
            }
        }
        return outputs
    }

    /// Ends what is on its way, so that nothing is waited for.
    private func leave() async -> Ending {
        await effects.view.client.disconnect()
        return .left(saying: nil)
    }

    private struct State {
        var model: ChatModel
        /// Effects whose answer is awaited.
        var waiting = 0
        /// Whether the list of conversations is still to be shown.
        var isListDue = true
        private var partial: [UInt8] = []
        private var lines: [String] = []
        private var isInputOver = false
        private var isLeaving = false

        init(model: ChatModel) { self.model = model }

        /// The first try to connect is over, and the world is there as far as it can be.
        private var isReady: Bool {
            switch model.link {
            case .connecting: false
            case .online, .ended: true
            case .offline: !model.isFilling
            }
        }

        /// All that was asked for is done, and nothing more will be asked for. Who leaves does not wait for a server that
        /// is away: what is written is kept.
        var isDone: Bool {
            guard isInputOver, lines.isEmpty, waiting == 0 else { return false }
            return isLeaving ? model.shown.waiting == 0 || model.link != .online : isReady && model.shown.waiting == 0
        }

        mutating func take(_ bytes: [UInt8]) {
            guard !isInputOver else { return }
            partial += bytes
            while let end = partial.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: partial[..<end], as: UTF8.self))
                partial.removeSubrange(...end)
            }
        }

        mutating func endInput(byWish: Bool = false) {
            if byWish {
                lines = []
                isLeaving = true
            } else if !partial.isEmpty {
                lines.append(String(decoding: partial, as: UTF8.self))
            }
            partial = []
            isInputOver = true
        }

        /// Does what the next line says, once the world is there and what came before is done; nil where there is none.
        mutating func next() -> [ChatOutput]? {
            guard isReady, waiting == 0, !lines.isEmpty else { return nil }
            let line = lines.removeFirst()
            if model.question != nil { return model.answer(line) }
            return TypedLine(line).map { model.perform($0) } ?? []
        }
    }
}
