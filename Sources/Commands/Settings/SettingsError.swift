/// An invalid setting, described in a sentence.
struct SettingsError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
