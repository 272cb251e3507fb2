internal import ArgumentParser

/// A setting: all that is said of it, once.
///
/// Its key is the one of the config file (`pool_size`); its flag (`--pool-size`) and its environment variable
/// (`POSTLINE_POOL_SIZE`) are made of that. Its default is what its place holds before anything is read. The README's
/// table has a row of each, and a test holds the two together.
struct Setting: Sendable {
    let key: String

    /// What it means; code in it stands between backticks.
    let help: String

    /// What holds where it is not set; nil where nothing does.
    let standard: Standard?

    /// Whether it names a file.
    let isFile: Bool

    private let put: @Sendable (String, inout Settings) throws(SettingFlaw) -> Void

    enum Standard: Sendable, Equatable {
        /// As it would be written.
        case value(String)

        /// In words, where no value says it.
        case words(String)
    }

    /// - Parameters:
    ///   - place: where its value is kept.
    ///   - otherwise: what holds without it, in words, where it has no default.
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

    /// Its environment variable.
    var variable: String { SettingNames.variable(key) }

    /// Its flag, as swift-argument-parser declares one.
    var option: Option<String?> {
        let standard =
            switch standard {
            case .value(let text), .words(let text): " Default: \(text)."
            case nil: ""
            }
        return Option(
            name: .customLong(String(SettingNames.flag(key).dropFirst(2))),
            // A value that begins with a dash is a wrong value, which is told as such.
            parsing: .unconditional, help: "\(help)\(standard)",
            completion: isFile ? .file() : nil)
    }

    /// Puts the value that is written so in its place.
    ///
    /// - Parameter name: by which it was given; nil: its variable.
    /// - Throws: `SettingsError`, which has that name, and what the value must be.
    func read(_ text: String, as name: String? = nil, into settings: inout Settings) throws(SettingsError) {
        do throws(SettingFlaw) {
            try put(text, &settings)
        } catch {
            throw SettingsError("\(name ?? variable) \(error.predicate)")
        }
    }
}
