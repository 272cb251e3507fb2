#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The chat on the whole terminal.
struct ScreenChat {
    let effects: ChatEffects
    let events: AsyncStream<AppEvent>
    let sink: AsyncStream<AppEvent>.Continuation
    let address: String

    /// Runs until the person leaves, or has to.
    func run() async -> Ending {
        var model = ScreenModel(address: address)
        var keys = KeyParser()
        var screen = Screen()
        let input = ChatInput(sink)
        defer { input.cancel() }
        var isDrawDue = false
        let effects = effects
        let sink = sink
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await effects.link.run() }
            defer { group.cancelAll() }
            sink.yield(.draw)
            for await event in events {
                var todo: [ChatEffect] = []
                switch event {
                case .chat(let event): todo = model.handle(event)
                case .input(let bytes?):
                    for key in keys.take(bytes) {
                        switch key {
                        case .redraw: screen.invalidate()
                        case .suspend: screen.lend { raise(SIGTSTP) }
                        default: todo += model.handle(key)
                        }
                    }
                case .input(nil), .terminated: return .left(saying: nil)
                case .resized: screen.invalidate()
                case .effectDone: continue
                case .draw:
                    isDrawDue = false
                    let size = Terminal.size
                    screen.draw(model.picture(width: size.width, height: size.height))
                    continue
                }
                for effect in todo {
                    if case .quit(let farewell) = effect {
                        if farewell == nil, !model.mayLeave() { continue }
                        return .left(saying: farewell)
                    }
                    if await effects.handOver(effect) { continue }
                    group.addTask { await effects.perform(effect) }
                }
                if model.isOver, case .ended(let reason) = model.chat.link { return .broken(reason) }
                if !isDrawDue {
                    isDrawDue = true
                    sink.yield(.draw)
                }
            }
            return .left(saying: nil)
        }
    }
}
