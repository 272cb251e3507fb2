import Foundations
import Postline

/// The chat on the full terminal.
@MainActor
struct ScreenChat {
    let effects: ChatEffects
    let events: AsyncStream<AppEvent>
    let sink: AsyncStream<AppEvent>.Continuation
    let address: String
    let isTemporary: Bool

    /// Runs until the user leaves or the chat cannot continue.
    func run() async -> Ending {
        var model = ScreenModel(
            address: address, chat: ChatModel(announcesMessages: false, isTemporary: isTemporary))
        var keys = KeyParser()
        var screen = Screen()
        let input = ChatInput(sink)
        defer { input.cancel() }
        var isDrawDue = false
        var isPauseDue = false
        let effects = effects
        let sink = sink
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            sink.yield(.changed)
            for await event in events {
                var todo = look(&model)
                switch event {
                case .changed, .effectDone: break
                case .paused:
                    isPauseDue = false
                    todo += model.keepDraft()
                case .chat(let event): todo += model.handle(event)
                case .input(let bytes?):
                    for key in keys.take(bytes) {
                        switch key {
                        case .redraw: screen.invalidate()
                        case .suspend: screen.lend { raise(SIGTSTP) }
                        default: todo += model.handle(key)
                        }
                    }
                case .input(nil), .terminated: return await leave(model)
                case .resized: screen.invalidate()
                case .draw:
                    isDrawDue = false
                    let size = Terminal.size
                    screen.draw(model.frame(width: size.width, height: size.height))
                    continue
                }
                repeat {
                    for effect in todo {
                        if case .quit(let farewell) = effect {
                            if farewell == nil, !model.mayLeave() { continue }
                            return await leave(model, saying: farewell)
                        }
                        if await effects.store(effect) { continue }
                        group.addTask { await effects.perform(effect) }
                    }
                    // What was stored is shown before the next effect runs.
                    todo = look(&model)
                } while !todo.isEmpty
                if !isPauseDue, model.isDraftDue {
                    isPauseDue = true
                    // The task ends with the chat.
                    group.addTask {
                        try? await Task.sleep(for: .seconds(1))
                        sink.yield(.paused)
                    }
                }
                if model.isOver, case .ended(let reason) = model.chat.link {
                    return .broken(reason, wasOnline: model.chat.wasOnline)
                }
                if !isDrawDue {
                    isDrawDue = true
                    sink.yield(.draw)
                }
            }
            return await leave(model)
        }
    }

    private func look(_ model: inout ScreenModel) -> [ChatEffect] {
        var effects: [ChatEffect] = []
        while let shown = self.effects.view.news(following: model.chat.followed) {
            effects += model.handle(.shows(shown))
        }
        return effects
    }

    /// Saves the draft, cancels pending effects, and ends the chat.
    private func leave(_ model: ScreenModel, saying farewell: String? = nil) async -> Ending {
        var model = model
        for effect in model.keepDraft() { _ = await effects.store(effect) }
        await effects.view.client.disconnect()
        return .left(saying: farewell ?? model.farewell)
    }
}
