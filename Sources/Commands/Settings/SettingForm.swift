/// The text form of a setting's values.
struct SettingForm<Value: Sendable>: Sendable {
    let read: @Sendable (String) throws(SettingFlaw) -> Value

    /// Returns the text of a value, or nil for an absent value.
    let write: @Sendable (Value) -> String?

    /// True if the text is a file's path.
    var isFile = false
}

extension SettingForm<String> {
    /// A text with a default. It must not be empty.
    static let text = SettingForm(
        read: { text throws(SettingFlaw) in
            if text.isEmpty { throw SettingFlaw("must not be empty.") }
            return text
        },
        write: { $0 })
}

extension SettingForm<String?> {
    /// An optional text. An empty one is nil.
    static let text = SettingForm(read: { $0.isEmpty ? nil : $0 }, write: { $0 })

    /// A file's path.
    static let file = SettingForm(read: text.read, write: text.write, isFile: true)
}

extension SettingForm<Int> {
    static func integer(in limits: ClosedRange<Int>) -> Self {
        SettingForm(
            read: { text throws(SettingFlaw) in
                guard let value = Int(text), limits.contains(value) else {
                    throw SettingFlaw("must be an integer from \(limits.lowerBound) to \(limits.upperBound).")
                }
                return value
            },
            write: { "\($0)" })
    }

    static let port = integer(in: 0...65_535)
}

extension SettingForm<Int?> {
    /// An optional integer; nil means no limit.
    static func integer(in limits: ClosedRange<Int>) -> Self {
        let form = SettingForm<Int>.integer(in: limits)
        return SettingForm(
            read: { text throws(SettingFlaw) in try form.read(text) }, write: { $0.flatMap(form.write) })
    }

    /// A port, or nil for `off`.
    static let portOrOff = SettingForm(
        read: { text throws(SettingFlaw) in
            if text == "off" { return nil }
            do throws(SettingFlaw) {
                return try SettingForm<Int>.port.read(text)
            } catch {
                throw SettingFlaw("\(error.predicate.dropLast()), or off.")
            }
        },
        write: { $0.map { "\($0)" } ?? "off" })
}

extension SettingForm<Duration> {
    /// A duration in whole seconds.
    static func seconds(in limits: ClosedRange<Int>) -> Self {
        let form = SettingForm<Int>.integer(in: limits)
        return SettingForm(
            read: { text throws(SettingFlaw) in .seconds(try form.read(text)) },
            write: { "\($0.components.seconds)" })
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable {
    /// One of the type's cases.
    static var choice: Self {
        SettingForm(
            read: { text throws(SettingFlaw) in
                let word = try SettingForm<String>.text.read(text)
                guard let value = Value(rawValue: word) else {
                    throw SettingFlaw("must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", ")).")
                }
                return value
            },
            write: { $0.rawValue })
    }
}

extension SettingForm<Bool> {
    /// `on` or `off`.
    static let onOff = SettingForm(
        read: { text throws(SettingFlaw) in try SettingForm<Switch>.choice.read(text) == .on },
        write: { ($0 ? Switch.on : .off).rawValue })

    private enum Switch: String, CaseIterable {
        case on, off
    }
}
