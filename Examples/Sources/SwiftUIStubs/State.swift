@propertyWrapper
public struct State<Value> {
    private let value: Value

    public init(wrappedValue value: Value) { self.value = value }
    public init(initialValue value: Value) { self.value = value }
    public var wrappedValue: Value {
        get { value }
        nonmutating set { fatalError("SwiftUI is not available.") }
    }
    public var projectedValue: Binding<Value> { Binding(get: { value }, set: { _ in }) }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

@propertyWrapper
public struct Binding<Value> {
    public init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {}
    public static func constant(_ value: Value) -> Binding { Binding(get: { value }, set: { _ in }) }
    public var wrappedValue: Value {
        get { fatalError("SwiftUI is not available.") }
        nonmutating set { fatalError("SwiftUI is not available.") }
    }
    public var projectedValue: Binding { self }
}

@dynamicMemberLookup @propertyWrapper
public struct Bindable<Value: AnyObject> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public var projectedValue: Bindable { self }
    public subscript<Subject>(
        dynamicMember path: ReferenceWritableKeyPath<Value, Subject>
    ) -> Binding<Subject> { fatalError("SwiftUI is not available.") }
}

/// A length that grows with the text size.
@propertyWrapper
public struct ScaledMetric<Value> {
    public let wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

@propertyWrapper
public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError("SwiftUI is not available.") }
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { fatalError("SwiftUI is not available.") }
    public var dismiss: DismissAction { fatalError("SwiftUI is not available.") }
}

@MainActor
public struct DismissAction {
    public func callAsFunction() {}
}
