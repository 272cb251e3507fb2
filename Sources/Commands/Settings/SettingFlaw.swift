/// The reason why a text is not a valid value, as the rest of a sentence that begins with the setting's name.
struct SettingFlaw: Error {
    let predicate: String

    init(_ predicate: String) { self.predicate = predicate }
}
