import Accounts
import ArgumentParser

/// The single declaration of a setting.
///
/// The key names it in the config file (`pool_size`). The flag (`--pool-size`) and the environment variable
/// (`POSTLINE_POOL_SIZE`) are derived from the key. The default is the value of its key path before anything is read.
struct Setting: Sendable {
    let key: String

    /// A description of its meaning, with code between backticks.
    let help: String

    /// The default, or nil if there is none.
    let standard: Standard?

    /// True if the value is a file's path.
    let isFile: Bool

    private let put: @Sendable (String, inout Settings) throws(SettingFlaw) -> Void

    enum Standard: Sendable, Equatable {
        /// A value as it would be written.
        case value(String)

        /// A description, if no value expresses the default.
        case words(String)
    }

    /// - Parameters:
    ///   - place: the key path of its value.
    ///   - otherwise: a description of the default, if it is not a value.
    init<Value>(
        _ key: String, _ place: any WritableKeyPath<Settings, Value> & Sendable, _ form: SettingForm<Value>,
        otherwise: String? = nil, _ help: String
    ) {
        self.key = key
        self.help = help
        isFile = form.isFile
        standard = form.write(Settings()[keyPath: place]).map { .value($0) } ?? otherwise.map { .words($0) }
        put = { text, settings throws(SettingFlaw) in settings[keyPath: place] = try form.read(text) }
    }

    /// The environment variable.
    var variable: String { SettingNames.variable(key) }

    /// The flag, as swift-argument-parser declares it.
    var option: Option<String?> {
        let standard =
            switch standard {
            case .value(let text), .words(let text): " Default: \(text)."
            case nil: ""
            }
        return Option(
            name: .customLong(String(SettingNames.flag(key).dropFirst(2))),
            // A value that begins with a dash is an invalid value and reported as such.
            parsing: .unconditional, help: "\(help)\(standard)",
            completion: isFile ? .file() : nil)
    }

    /// Parses a value and stores it.
    ///
    /// - Parameter name: the name under which it was given, or nil for its variable.
    /// - Throws: `SettingsError` with that name and the valid values.
    func read(_ text: String, as name: String? = nil, into settings: inout Settings) throws(SettingsError) {
        do throws(SettingFlaw) {
            try put(text, &settings)
        } catch {
            throw SettingsError("\(name ?? variable) \(error.predicate)")
        }
    }
}
