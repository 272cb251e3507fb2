import Postline

/// The chat in line mode: commands and texts on standard input, events on standard output.
///
/// Each line completes before the next is read, so that a script can open a conversation and write into it. At the end
/// of the input the chat waits until everything is delivered, and ends.
@MainActor
struct LineChat {
    let effects: ChatEffects
    let events: AsyncStream<AppEvent>
    let sink: AsyncStream<AppEvent>.Continuation
    let isTemporary: Bool

    /// Runs until the input ends or the user leaves.
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
                // Changes that preceded a response are printed before it.
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
                    // What was stored is printed before the next effect runs.
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
            // The data is complete, at once if the device has stored it.
            if !state.model.isFilling, state.isListDue {
                state.isListDue = false
                outputs.append(.notice(.conversations))
            }
        }
        return outputs
    }

    /// Cancels pending effects and ends the chat.
    private func leave() async -> Ending {
        await effects.view.client.disconnect()
        return .left(saying: nil)
    }

    private struct State {
        var model: ChatModel
        /// The number of effects that wait for a response.
        var waiting = 0
        /// True if the list of conversations has not been printed yet.
        var isListDue = true
        private var partial: [UInt8] = []
        private var lines: [String] = []
        private var isInputOver = false
        private var isLeaving = false

        init(model: ChatModel) { self.model = model }

        /// True once the first connection attempt has ended and the data is as complete as possible.
        private var isReady: Bool {
            switch model.link {
            case .connecting: false
            case .online, .ended: true
            case .offline: !model.isFilling
            }
        }

        /// True if all requests have completed and no more will follow. A user who leaves does not wait for an
        /// unreachable server: messages are stored.
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

        /// Executes the next line once the data is complete and earlier lines are done. Returns nil if there is no
        /// line.
        mutating func next() -> [ChatOutput]? {
            guard isReady, waiting == 0, !lines.isEmpty else { return nil }
            let line = lines.removeFirst()
            if model.question != nil { return model.answer(line) }
            return TypedLine(line).map { model.perform($0) } ?? []
        }
    }
}
