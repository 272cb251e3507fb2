/// Why a text cannot be a setting's value, as a sentence goes on that begins with the setting's name.
struct SettingFlaw: Error {
    let predicate: String

    init(_ predicate: String) { self.predicate = predicate }
}
