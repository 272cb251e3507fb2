public import Foundation

public struct Text: DrawnView {
    public init(_ content: some StringProtocol) {}
}

public struct Image: DrawnView {
    public init(_ name: String) {}
    public func resizable() -> Image { self }
}

public struct AsyncImage: DrawnView {
    public init(
        url: URL?, scale: Double = 1, @ViewBuilder content: @escaping (Image) -> some View,
        @ViewBuilder placeholder: @escaping () -> some View
    ) {}
}

public struct TextField: DrawnView {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
}

public struct SecureField: DrawnView {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
}

public struct Button: DrawnView {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
}

public struct Form<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
}

public struct VStack<Content: View>: DrawnView {
    public init(
        alignment: HorizontalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct LazyVStack<Content: View>: DrawnView {
    public init(
        alignment: HorizontalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct ScrollView<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct UnitPoint: Sendable {
    public static let bottom = UnitPoint()
}

public enum ContentMode: Sendable {
    case fit, fill
}

public struct HStack<Content: View>: DrawnView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct List<Content: View>: DrawnView {
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

public struct NavigationStack<Root: View>: DrawnView {
    public init(@ViewBuilder root: () -> Root) {}
}

public struct NavigationLink<Label: View>: DrawnView {
    public init<Value: Hashable>(value: Value?, @ViewBuilder label: () -> Label) {}
}

extension NavigationLink where Label == Text {
    public init(_ title: some StringProtocol, @ViewBuilder destination: () -> some View) {}
}

public protocol Shape: View {}

public struct Circle: Shape, DrawnView {
    public nonisolated init() {}
}

public protocol ShapeStyle: Sendable {}

public struct Color: ShapeStyle, DrawnView {
    public nonisolated init(red: Double, green: Double, blue: Double, opacity: Double = 1) {}
}

extension ShapeStyle where Self == Color {
    public static var white: Color { Color(red: 1, green: 1, blue: 1) }
}
