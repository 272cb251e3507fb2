public import Foundation

// Navigation and presentation.
extension View {
    public func navigationTitle(_ title: some StringProtocol) -> some View { self }
    public func navigationDestination<Value: Hashable>(
        for type: Value.Type, @ViewBuilder destination: @escaping (Value) -> some View
    ) -> some View { self }
    public func toolbar(@ToolbarContentBuilder content: () -> some ToolbarContent) -> some View { self }
    public func searchable(text: Binding<String>, prompt: (some StringProtocol)? = String?.none) -> some View { self }
    public func sheet(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping () -> some View
    ) -> some View { self }
    public func alert(
        _ title: some StringProtocol, isPresented: Binding<Bool>, @ViewBuilder actions: () -> some View,
        @ViewBuilder message: () -> some View
    ) -> some View { self }
    public func alert(
        _ title: some StringProtocol, isPresented: Binding<Bool>, @ViewBuilder actions: () -> some View
    ) -> some View { self }
    public func fileImporter(
        isPresented: Binding<Bool>, allowedContentTypes: [UTType], allowsMultipleSelection: Bool,
        onCompletion: @escaping (Result<[URL], any Error>) -> Void
    ) -> some View { self }
    public func contextMenu(@ViewBuilder menuItems: () -> some View) -> some View { self }
    public func swipeActions(@ViewBuilder content: () -> some View) -> some View { self }
}

// Events.
extension View {
    public func refreshable(action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor @Sendable () async -> Void) -> some View {
        self
    }
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping (Value, Value) -> Void
    ) -> some View { self }
    public func onSubmit(_ action: @escaping @MainActor () -> Void) -> some View { self }
    public func onTapGesture(count: Int = 1, perform action: @escaping @MainActor () -> Void) -> some View { self }
    public func simultaneousGesture(_ gesture: some Gesture) -> some View { self }
}

// Scrolling and layout.
extension View {
    public func scrollTargetLayout(isEnabled: Bool = true) -> some View { self }
    public func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { self }
    public func scrollPosition(id: Binding<(some Hashable)?>, anchor: UnitPoint? = nil) -> some View { self }
    public func safeAreaInset(edge: VerticalEdge, @ViewBuilder content: () -> some View) -> some View { self }
    public func overlay(alignment: Alignment = .center, @ViewBuilder content: () -> some View) -> some View { self }
    public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { self }
    public func padding(_ length: CGFloat) -> some View { self }
    public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { self }
    public func frame(maxWidth: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center) -> some View
    {
        self
    }
    public func aspectRatio(_ aspectRatio: CGFloat? = nil, contentMode: ContentMode) -> some View { self }
    public func scaledToFill() -> some View { self }
    public func scaledToFit() -> some View { self }
    public func clipShape(_ shape: some Shape) -> some View { self }
    public func lineLimit(_ number: Int?) -> some View { self }
    public func lineLimit(_ range: ClosedRange<Int>) -> some View { self }
    public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { self }
    public func tag(_ tag: some Hashable) -> some View { self }
}

// Appearance.
extension View {
    public func badge(_ count: Int) -> some View { self }
    public func disabled(_ isDisabled: Bool) -> some View { self }
    public func font(_ font: Font?) -> some View { self }
    public func foregroundStyle(_ style: some ShapeStyle) -> some View { self }
    public func background(_ style: some ShapeStyle) -> some View { self }
    public func background(_ style: some ShapeStyle, in shape: some Shape) -> some View { self }
    public func buttonStyle(_ style: BorderlessButtonStyle) -> some View { self }
    public func labelStyle(_ style: IconOnlyLabelStyle) -> some View { self }
    public func pickerStyle(_ style: SegmentedPickerStyle) -> some View { self }
}

// Accessibility.
extension View {
    public func accessibilityLabel(_ label: some StringProtocol) -> some View { self }
    public func accessibilityHidden(_ isHidden: Bool) -> some View { self }
    public func accessibilityElement(children: AccessibilityChildBehavior = .ignore) -> some View { self }
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { self }
    public func accessibilityZoomAction(
        _ handler: @escaping @MainActor (AccessibilityZoomGestureAction) -> Void
    ) -> some View { self }
}

public struct AccessibilityZoomGestureAction {
    public enum Direction: Sendable {
        case zoomIn, zoomOut
    }

    public let direction: Direction
}

public struct AccessibilityChildBehavior: Sendable {
    public static let ignore = AccessibilityChildBehavior()
    public static let combine = AccessibilityChildBehavior()
}

public struct AccessibilityTraits: Sendable {
    public static let isButton = AccessibilityTraits()
    public static let isHeader = AccessibilityTraits()
    public static let isSelected = AccessibilityTraits()
}
