public import Foundation

extension View {
    public func badge(_ count: Int) -> some View { self }
    public func navigationTitle(_ title: some StringProtocol) -> some View { self }
    public func navigationDestination<Value: Hashable>(
        for type: Value.Type, @ViewBuilder destination: @escaping (Value) -> some View
    ) -> some View { self }
    public func toolbar(@ViewBuilder content: () -> some View) -> some View { self }
    public func refreshable(action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor @Sendable () async -> Void) -> some View {
        self
    }
    public func onSubmit(_ action: @escaping @MainActor () -> Void) -> some View { self }
    public func frame(width: Double? = nil, height: Double? = nil) -> some View { self }
    public func aspectRatio(_ aspectRatio: CGFloat? = nil, contentMode: ContentMode) -> some View { self }
    public func scrollTargetLayout(isEnabled: Bool = true) -> some View { self }
    public func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { self }
    public func scrollPosition(id: Binding<(some Hashable)?>, anchor: UnitPoint? = nil) -> some View { self }
    public func clipShape(_ shape: some Shape) -> some View { self }
    public func foregroundStyle(_ style: some ShapeStyle) -> some View { self }
    public func background(_ style: some ShapeStyle, in shape: some Shape) -> some View { self }
}
