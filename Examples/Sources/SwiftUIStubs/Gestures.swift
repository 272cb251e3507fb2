public import Foundation

@MainActor @preconcurrency
public protocol Gesture<Value> {
    associatedtype Value
}

extension Gesture {
    public func onChanged(_ action: @escaping @MainActor (Value) -> Void) -> some Gesture<Value> { self }
    public func onEnded(_ action: @escaping @MainActor (Value) -> Void) -> some Gesture<Value> { self }
}

public struct MagnifyGesture: Gesture {
    public struct Value: Equatable, Sendable {
        public let magnification: CGFloat
    }

    public init() {}
}
