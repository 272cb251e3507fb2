public import Foundation

public struct Text: DrawnView {
    public init(_ content: some StringProtocol) {}
    public init(_ date: Date, style: DateStyle) {}

    public struct DateStyle: Sendable {
        public static let time = DateStyle()
        public static let date = DateStyle()
    }
}

public struct Image: DrawnView, Sendable {
    public nonisolated init(_ name: String) {}
    public nonisolated init(systemName: String) {}
    public func resizable() -> Image { self }
}

public struct Label: DrawnView {
    public init(_ title: some StringProtocol, systemImage: String) {}
}

public struct TextField: DrawnView {
    public init(_ title: some StringProtocol, text: Binding<String>, axis: Axis = .horizontal) {}
}

public struct SecureField: DrawnView {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
}

public struct Button<Label: View>: DrawnView {
    public init(
        role: ButtonRole? = nil, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label
    ) {}
}

extension Button where Label == Text {
    public init(_ title: some StringProtocol, role: ButtonRole? = nil, action: @escaping @MainActor () -> Void) {}
}

extension Button where Label == SwiftUIStubs.Label {
    public init(
        _ title: some StringProtocol, systemImage: String, role: ButtonRole? = nil,
        action: @escaping @MainActor () -> Void
    ) {}
}

public struct ButtonRole: Sendable {
    public static let cancel = ButtonRole()
    public static let destructive = ButtonRole()
}

public struct Picker<Content: View>: DrawnView {
    public init(
        _ title: some StringProtocol, selection: Binding<some Hashable>, @ViewBuilder content: () -> Content
    ) {}
}

public struct ProgressView: DrawnView {
    public init() {}
    public init(_ title: some StringProtocol) {}
    public init(value: Double?) {}
}

public struct ContentUnavailableView<Actions: View>: DrawnView {
    public init(
        @ViewBuilder label: () -> some View, @ViewBuilder description: () -> some View = { EmptyView() },
        @ViewBuilder actions: () -> Actions = { EmptyView() }
    ) {}
}

public struct PhotosPickerItem: Equatable, Sendable {
    public func loadTransferable(type: Data.Type) async throws -> Data? { nil }
}

public struct PhotosPicker<Label: View>: DrawnView {
    public init(
        selection: Binding<PhotosPickerItem?>, matching filter: PHPickerFilter? = nil, @ViewBuilder label: () -> Label
    ) {}
}

public struct PHPickerFilter: Sendable {
    public static let images = PHPickerFilter()
}

public struct ShareLink<Label: View>: DrawnView {
    public init(item: URL, @ViewBuilder label: () -> Label) {}
}

public struct UTType: Sendable {
    public static let item = UTType()
}
