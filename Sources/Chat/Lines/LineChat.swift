/// The chat as lines: commands and texts come in on standard input, what happens goes out on standard output.
///
/// A line is done before the next is looked at, so that a script may open a conversation and write into it. At the
/// input's end the chat waits until all is delivered, and ends.
struct LineChat {
    let effects: ChatEffects
    let events: AsyncStream<AppEvent>
    let sink: AsyncStream<AppEvent>.Continuation

    /// Runs until the input ends or the person leaves.
    func run() async -> Ending {
        let input = ChatInput(sink)
        defer { input.cancel() }
        let depth = Terminal.colorDepth
        let format = LineFormat(showsAvatars: depth != .none)
        let echo = Echo()
        defer { echo?.isOn = true }
        let effects = effects
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await effects.link.run() }
            defer { group.cancelAll() }
            var state = State()
            for await event in events {
                var outputs: [ChatOutput] = []
                switch event {
                case .chat(let event):
                    outputs = state.model.handle(event)
                    if event == .link(.online), !state.wasOnline {
                        state.wasOnline = true
                        outputs.append(.notice(.conversations))
                    }
                case .input(let bytes?): state.take(bytes)
                case .input(nil): state.endInput()
                case .terminated: return .left(saying: nil)
                case .effectDone: state.waiting -= 1
                case .resized, .draw: continue
                }
                while true {
                    outputs += state.model.sawNewest()
                    for output in outputs {
                        switch output {
                        case .notice(let notice):
                            for line in format.lines(notice, state.model) {
                                guard Terminal.write(line.encoded(depth) + "\n") else { return .left(saying: nil) }
                            }
                            if case .link(.ended(let reason)) = notice { return .broken(reason) }
                        case .effect(.quit(let farewell)):
                            if let farewell { Terminal.write("* \(farewell)\n") }
                            state.endInput(dropping: true)
                        case .effect(let effect):
                            if await effects.handOver(effect) { continue }
                            state.waiting += 1
                            let sink = sink
                            group.addTask {
                                await effects.perform(effect)
                                sink.yield(.effectDone)
                            }
                        }
                    }
                    echo?.isOn = state.model.question?.isSecret != true
                    guard let next = state.next() else { break }
                    outputs = next
                }
                if state.isDone, await effects.link.isIdle { return .left(saying: nil) }
            }
            return .left(saying: nil)
        }
    }

    private struct State {
        var model = ChatModel()
        /// Effects whose answer is awaited.
        var waiting = 0
        var wasOnline = false
        private var partial: [UInt8] = []
        private var lines: [String] = []
        private var isInputOver = false

        /// All that was asked for is done, and nothing more will be asked for.
        var isDone: Bool { wasOnline && isInputOver && lines.isEmpty && waiting == 0 && model.outgoing.isEmpty }

        mutating func take(_ bytes: [UInt8]) {
            guard !isInputOver else { return }
            partial += bytes
            while let end = partial.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: partial[..<end], as: UTF8.self))
                partial.removeSubrange(...end)
            }
        }

        mutating func endInput(dropping: Bool = false) {
            if dropping {
                lines = []
            } else if !partial.isEmpty {
                lines.append(String(decoding: partial, as: UTF8.self))
            }
            partial = []
            isInputOver = true
        }

        /// Does what the next line says, once the world is there and what came before is done; nil where there is none.
        mutating func next() -> [ChatOutput]? {
            guard wasOnline, waiting == 0, !lines.isEmpty else { return nil }
            let line = lines.removeFirst()
            if model.question != nil { return model.answer(line) }
            return TypedLine(line).map { model.perform($0) } ?? []
        }
    }
}
