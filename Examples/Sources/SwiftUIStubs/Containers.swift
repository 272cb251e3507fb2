public import Foundation

public struct Form<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct Section<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
    public init(_ title: some StringProtocol, @ViewBuilder content: () -> Content) {}
    public init(@ViewBuilder content: () -> Content, @ViewBuilder footer: () -> some View) {}
}

public struct HStack<Content: View>: DrawnView {
    public init(
        alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct VStack<Content: View>: DrawnView {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct LazyVStack<Content: View>: DrawnView {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct Spacer: DrawnView {
    public init(minLength: CGFloat? = nil) {}
}

public struct ScrollView<Content: View>: DrawnView {
    public init(_ axes: Axis.Set = .vertical, @ViewBuilder content: () -> Content) {}
}

public struct GeometryReader<Content: View>: DrawnView {
    public init(@ViewBuilder content: @escaping (GeometryProxy) -> Content) {}
}

public struct GeometryProxy {
    public var size: CGSize { fatalError("SwiftUI is not available.") }
}

public struct ScrollViewReader<Content: View>: DrawnView {
    public init(@ViewBuilder content: @escaping (ScrollViewProxy) -> Content) {}
}

public struct ScrollViewProxy {
    private let view: AnyObject? = nil
    public func scrollTo(_ id: some Hashable, anchor: UnitPoint? = nil) {}
}

public struct List<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
    public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Content
    )
    where Data.Element: Identifiable {}
}

public struct ForEach<Content: View>: DrawnView {
    public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content
    )
    where Data.Element: Identifiable {}
}

extension ForEach {
    public init<Data: RandomAccessCollection, ID: Hashable>(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}

public struct Menu: DrawnView {
    public init(_ title: some StringProtocol, systemImage: String, @ViewBuilder content: () -> some View) {}
}

public struct NavigationStack<Root: View>: DrawnView {
    public init(@ViewBuilder root: () -> Root) {}
    public init<Data>(path: Binding<Data>, @ViewBuilder root: () -> Root)
    where Data: MutableCollection & RandomAccessCollection & RangeReplaceableCollection, Data.Element: Hashable {}
}

public struct NavigationLink<Label: View>: DrawnView {
    public init<Value: Hashable>(value: Value?, @ViewBuilder label: () -> Label) {}
}

extension NavigationLink where Label == Text {
    public init(_ title: some StringProtocol, @ViewBuilder destination: () -> some View) {}
}

@MainActor @preconcurrency
public protocol ToolbarContent {}

@MainActor @resultBuilder
public enum ToolbarContentBuilder {
    public static func buildBlock<each Content: ToolbarContent>(_ content: repeat each Content) -> TupleToolbarContent {
        TupleToolbarContent()
    }
}

public struct TupleToolbarContent: ToolbarContent {}

public struct ToolbarItem: ToolbarContent {
    public init(placement: ToolbarItemPlacement = .automatic, @ViewBuilder content: () -> some View) {}
}

public struct ToolbarItemPlacement: Sendable {
    public static let automatic = ToolbarItemPlacement()
    public static let principal = ToolbarItemPlacement()
    public static let navigation = ToolbarItemPlacement()
    public static let primaryAction = ToolbarItemPlacement()
    public static let confirmationAction = ToolbarItemPlacement()
    public static let cancellationAction = ToolbarItemPlacement()
}
