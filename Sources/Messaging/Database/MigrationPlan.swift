/// The names that pending migrations create in a database, and the reasons why they cannot be applied there.
package struct MigrationPlan: Sendable {
    /// The tables, domains and functions, such as `public.messages`.
    package let objects: [String]

    /// The schemas.
    package let schemas: [String]

    /// The extensions.
    package let extensions: [String]

    /// - Parameter applied: the names of the migrations that were applied.
    package init(applied: Set<String>) {
        var objects: [String] = []
        var schemas: [String] = applied.isEmpty ? ["app"] : []
        var extensions: [String] = []
        for file in SQLFile.files(in: "migrations") where !applied.contains(file.name) {
            for line in file.text.split(separator: "\n") {
                guard let (kind, name) = Self.created(by: line) else { continue }
                switch kind {
                case "schema": if !schemas.contains(name) { schemas.append(name) }
                case "extension": extensions.append(name)
                default: objects.append(name)
                }
            }
        }
        self.objects = objects
        self.schemas = schemas
        self.extensions = extensions
    }

    /// The parameters of `DoctorQuestion.obstacles`.
    package var parameters: [String?] {
        [objects, schemas, extensions, ExpectedSchema.tables].map { "{\($0.joined(separator: ","))}" }
    }

    /// The kind and name of what a line of a migration creates; nil where it creates nothing that has a name of its own.
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
