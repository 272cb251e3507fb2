import Observation

/// An observer that records each value that a view would show.
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
            // Like SwiftUI, it reads the changed value in the next turn. The task ends at once.
            Task { @MainActor in self?.observe() }
        }
        if values.last != value { values.append(value) }
    }
}
