import FoundationEssentials
import WireProtocol

/// The settings of a config file: one JSON object whose keys are settings and whose values are strings or numbers.
struct ConfigFile: Sendable {
    let path: String

    /// The settings' values as text, by key.
    let values: [String: String]

    /// The settings that `postline dev` wrote for its world.
    ///
    /// - Throws: `SettingsError` if the directory holds no dev world, or its file cannot be read.
    init(devWorld directory: String) throws {
        let path = "\(directory)/settings.json"
        guard FileManager.default.fileExists(atPath: path) else {
            throw SettingsError(
                "\(directory) holds no dev world: let --directory name one that `postline dev` has made.")
        }
        try self.init(path)
    }

    /// - Throws: `SettingsError` if the file cannot be read or has an unknown key, which would be a setting without
    ///   effect.
    init(_ path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw SettingsError("The config file \(path) cannot be read.")
        }
        let json: JSON
        do {
            json = try JSON(parsing: text)
        } catch {
            throw SettingsError("The config file \(path) must hold one JSON object.\(Self.place(of: error, in: text))")
        }
        guard case .object(let object) = json else {
            throw SettingsError("The config file \(path) must hold one JSON object.")
        }
        var values: [String: String] = [:]
        for member in object.members {
            guard Setting.all.contains(where: { $0.key == member.name }) else {
                let nearest = SettingNames.nearestKey(to: member.name).map { " Did you mean \($0)?" } ?? ""
                throw SettingsError("The config file \(path) has an unknown setting: \(member.name).\(nearest)")
            }
            guard values[member.name] == nil else {
                throw SettingsError("The config file \(path) has the key \(member.name) twice.")
            }
            switch member.value {
            case .string(let text): values[member.name] = text
            case .number: values[member.name] = member.value.text
            case .null, .bool, .array, .object:
                throw SettingsError("In the config file \(path), \(member.name) must be a text or a number.")
            }
        }
        self.path = path
        self.values = values
    }

    /// Returns the line and column of a syntax error as a sentence, or an empty string if unknown.
    private static func place(of error: any Error, in text: String) -> String {
        guard case .malformed(let offset, let reason)? = error as? JSONError else { return "" }
        let lines = text.utf8.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return " Line \(lines.count), column \((lines.last?.count ?? 0) + 1): \(reason)."
    }
}
