public import Foundation

public protocol Shape: View {}

public struct Circle: Shape, DrawnView {
    public nonisolated init() {}
}

public struct Capsule: Shape, DrawnView {
    public nonisolated init() {}
}

public struct RoundedRectangle: Shape, DrawnView {
    public nonisolated init(cornerRadius: CGFloat) {}
}

public protocol ShapeStyle: Sendable {}

public struct Color: ShapeStyle, DrawnView {
    public nonisolated init(red: Double, green: Double, blue: Double, opacity: Double = 1) {}
    public static let accentColor = Color(red: 0, green: 0, blue: 1)
    public static let primary = Color(red: 0, green: 0, blue: 0)
    public static let secondary = Color(red: 0.5, green: 0.5, blue: 0.5)
    public func opacity(_ opacity: Double) -> Color { self }
}

extension ShapeStyle where Self == Color {
    public static var white: Color { Color(red: 1, green: 1, blue: 1) }
    public static var black: Color { Color(red: 0, green: 0, blue: 0) }
    public static var red: Color { Color(red: 1, green: 0, blue: 0) }
}

public struct HierarchicalShapeStyle: ShapeStyle {
    public static let secondary = HierarchicalShapeStyle()
    public static let quaternary = HierarchicalShapeStyle()
}

extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var quaternary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

public struct Material: ShapeStyle {}

extension ShapeStyle where Self == Material {
    public static var bar: Material { Material() }
}

public struct Font: Sendable {
    public static let title = Font()
    public static let title2 = Font()
    public static let headline = Font()
    public static let subheadline = Font()
    public static let body = Font()
    public static let caption = Font()
    public static let caption2 = Font()
    public func bold() -> Font { self }
}

public struct BorderlessButtonStyle: Sendable {
    public static var borderless: BorderlessButtonStyle { BorderlessButtonStyle() }
}

public struct IconOnlyLabelStyle: Sendable {
    public static var iconOnly: IconOnlyLabelStyle { IconOnlyLabelStyle() }
}

public struct SegmentedPickerStyle: Sendable {
    public static var segmented: SegmentedPickerStyle { SegmentedPickerStyle() }
}

public enum ContentMode: Sendable {
    case fit, fill
}

public enum Axis: Sendable {
    case horizontal, vertical

    public struct Set: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
    }
}

public enum VerticalEdge: Sendable {
    case top, bottom
}

public enum Edge: Sendable {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
        public static let top = Set(rawValue: 4)
        public static let bottom = Set(rawValue: 8)
        public static let all = Set(rawValue: 15)
    }
}

public enum TextAlignment: Sendable {
    case leading, center, trailing
}

public struct UnitPoint: Sendable {
    public static let top = UnitPoint()
    public static let center = UnitPoint()
    public static let bottom = UnitPoint()
}

public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
    public static let trailing = HorizontalAlignment()
}

public struct VerticalAlignment: Sendable {
    public static let top = VerticalAlignment()
    public static let center = VerticalAlignment()
    public static let bottom = VerticalAlignment()
    public static let firstTextBaseline = VerticalAlignment()
}

public struct Alignment: Sendable {
    public static let center = Alignment()
    public static let top = Alignment()
    public static let bottomTrailing = Alignment()
}
