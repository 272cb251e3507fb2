// Stubs of the SwiftUI declarations that ChatApp uses, to type-check its views without SwiftUI. They draw nothing.

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError("SwiftUI is not available.") }
}

/// A view without a body of its own.
public protocol DrawnView: View where Body == Never {}

extension DrawnView {
    public var body: Never { fatalError("SwiftUI is not available.") }
}

@MainActor @resultBuilder
public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView {
        TupleView()
    }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> ConditionalView<First, Second> {
        ConditionalView()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalView<First, Second> {
        ConditionalView()
    }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError("SwiftUI is not available.") }
}

public struct EmptyView: DrawnView {
    public init() {}
}

public struct TupleView: DrawnView {}

public struct ConditionalView<First: View, Second: View>: DrawnView {}
