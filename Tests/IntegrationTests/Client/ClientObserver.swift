import Observation

/// A part of an app: it observes a value of the client as a view does, and keeps each that it was shown.
@MainActor
final class ClientObserver<Value: Equatable> {
    private(set) var values: [Value] = []
    private let read: @MainActor () -> Value

    init(_ read: @escaping @MainActor () -> Value) {
        self.read = read
        observe()
    }

    private func observe() {
        let value = withObservationTracking {
            read()
        } onChange: { [weak self] in
            // As SwiftUI does: what has changed is read in the next turn. It ends at once.
            Task { @MainActor in self?.observe() }
        }
        if values.last != value { values.append(value) }
    }
}
