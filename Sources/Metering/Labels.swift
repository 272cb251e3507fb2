/// The labels of a series, by name.
struct Labels: Hashable, Comparable, Sendable {
    /// The text form, such as `{code="ok",method="me.get"}`, or empty.
    let text: String

    private let pairs: [[String]]

    /// Creates labels. The first of duplicate names counts.
    init(_ dimensions: [(String, String)]) {
        var pairs: [[String]] = []
        for (name, value) in dimensions {
            let name = Self.name(name)
            if !pairs.contains(where: { $0[0] == name }) { pairs.append([name, value]) }
        }
        self.init(pairs: pairs.sorted { $0[0] < $1[0] })
    }

    private init(pairs: [[String]]) {
        self.pairs = pairs
        let inner = pairs.map { "\($0[0])=\"\(Self.escaped($0[1]).replacing("\"", with: "\\\""))\"" }
        text = inner.isEmpty ? "" : "{\(inner.joined(separator: ","))}"
    }

    /// Returns the labels with another one at the end.
    func adding(_ name: String, _ value: String) -> Labels { Labels(pairs: pairs + [[name, value]]) }

    static func < (one: Labels, other: Labels) -> Bool { one.text < other.text }

    /// Returns the text escaped for HELP lines and values.
    static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    /// Returns a valid Prometheus name: everything but ASCII letters and digits becomes `_`.
    static func name(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
        return name.first?.isNumber ?? true ? "_" + name : name
    }
}
