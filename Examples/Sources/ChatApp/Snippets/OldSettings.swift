import Foundation
import Postline

struct OldSettings: LegacyData {
    func migrate(into edit: inout ProfileEdit) throws -> Bool {
        guard let name = UserDefaults.standard.string(forKey: "displayName") else { return false }
        edit.fullName = name
        return true
    }

    func erase() throws { UserDefaults.standard.removeObject(forKey: "displayName") }
}
