import Postgres

extension Migrator {
    /// The login role of the service, which a migration creates if it is missing.
    package struct LoginRole: Sendable {
        package let name: String
        package let password: String?

        package init(name: String, password: String?) {
            self.name = name
            self.password = password
        }

        /// Reads the role from a connection string or URL: `postline` if that names none.
        ///
        /// - Parameter owner: the connection string of the role that creates it. If both go through a pooler that serves
        ///   many databases, such as Supabase's, both names end with the same `.PROJECT`, which the role's does not.
        /// - Throws: `MigrationError.unreachable` if libpq cannot read one of them.
        package init(of url: String, owner: String? = nil) throws {
            do {
                let target = try ConnectionTarget(url)
                let name = target.user ?? "postline"
                let tenant = try owner.flatMap { try ConnectionTarget($0).user }.flatMap(Self.tenant)
                let hasTenantSuffix = tenant != nil && Self.tenant(of: name) == tenant
                self.init(
                    name: hasTenantSuffix ? String(name.dropLast((tenant?.count ?? 0) + 1)) : name,
                    password: target.password)
            } catch {
                throw MigrationError.unreachable("\(error)")
            }
        }

        /// The part of a user's name after the last point, which a pooler takes as the project.
        private static func tenant(of user: String) -> Substring? {
            guard let point = user.lastIndex(of: "."), point > user.startIndex else { return nil }
            let tenant = user[user.index(after: point)...]
            return tenant.isEmpty ? nil : tenant
        }
    }
}
