import Foundations
import Postgres

/// The names that pending migrations create in a database, and the reasons why they cannot be applied there.
package struct MigrationPlan: Sendable {
    /// The tables, domains and functions, such as `public.messages`, except replacements of those of applied
    /// migrations.
    package let objects: [String]

    /// The schemas.
    package let schemas: [String]

    /// The extensions.
    package let extensions: [String]

    /// - Parameter applied: the names of applied migrations; nil if there is no ledger yet.
    package init(applied: Set<String>?) {
        var objects: [String] = []
        var owned: Set<String> = []
        // The ledger is created in this schema.
        var schemas: [String] = applied == nil ? ["app"] : []
        var extensions: [String] = []
        for file in SQLFile.files(in: "migrations") {
            let isApplied = applied?.contains(file.name) == true
            for line in file.text.split(separator: "\n") {
                guard let (kind, name) = Self.created(by: line) else { continue }
                switch kind {
                case _ where isApplied: owned.insert(name)
                case "schema": if name != "app", !schemas.contains(name) { schemas.append(name) }
                case "extension": extensions.append(name)
                default: objects.append(name)
                }
            }
        }
        self.objects = objects.filter { !owned.contains($0) }
        self.schemas = schemas
        self.extensions = extensions
    }

    /// The parameters of `DoctorQuery.obstacles`.
    package var parameters: [String?] {
        [objects, schemas, extensions, ExpectedSchema.tables].map(\.arrayLiteral)
    }

    /// Returns the kind and name of the object that a line of a migration creates, or nil.
    ///
    /// An extension is created by a statement within a string.
    private static func created(by line: Substring) -> (kind: String, name: String)? {
        guard let start = line.firstRange(of: "create ") else { return nil }
        let leading = line[..<start.lowerBound]
        guard leading.allSatisfy({ $0 == " " }) || leading.hasSuffix("execute format('") else { return nil }
        let words = line[start.upperBound...].split(separator: " ").filter { !["if", "not", "exists"].contains($0) }
        guard words.count > 1, ["schema", "table", "domain", "function", "extension"].contains(words[0]) else {
            return nil
        }
        return (String(words[0]), String(words[1].prefix { $0 != "(" && $0 != ";" }))
    }
}

/// Checks before the first write.
extension MigrationPlan {
    /// - Throws: `MigrationError.obstructed` if the plan cannot be executed.
    func refuseObstacles(over connection: Connection) async throws {
        let statement = Statement("obstacles", DoctorQuery.obstacles.sql)
        let rows = try await connection.run([Call(statement, parameters)], deadline: nil)[0]
        guard rows.count == 0 else {
            throw MigrationError.obstructed((0..<rows.count).compactMap { rows.text($0, 1) })
        }
        for name in extensions { try await Self.tryExtension(name, over: connection) }
    }

    /// Creates an extension and rolls back, since a function of the app may have the name of one of its functions.
    ///
    /// - Throws: `MigrationError.obstructed`.
    private static func tryExtension(_ name: String, over connection: Connection) async throws {
        _ = try await connection.execute("begin")
        do {
            let creation = try await connection.run([Call(extensionCreation, [name])], deadline: nil)[0]
            _ = try await connection.execute(creation.text(0, 0) ?? "")
            _ = try await connection.execute("rollback")
        } catch {
            guard case .server(let refusal) = error else { throw error }
            _ = try await connection.execute("rollback")
            throw MigrationError.obstructed([
                "The extension \(name) cannot be created: \(refusal.message). Create it in a separate schema, or rename "
                    + "the conflicting object."
            ])
        }
    }

    /// The statement that creates an extension where the migrations do.
    private static let extensionCreation = Statement(
        "extension_creation",
        """
        select format('create extension if not exists %I schema %I', $1::text,
            case when to_regnamespace('extensions') is null then 'public' else 'extensions' end)
        """)
}
