import WireProtocol

/// The declaration of a param, or of a member of a param that is an object of fields.
///
/// Validation, suggestions, the tests of `docs/protocol.md` and the OpenAPI document use it.
struct Parameter: Sendable {
    /// The name in the protocol.
    let name: String

    let type: ParameterType
    let requirement: Requirement

    /// The value if the param is absent, or nil if there is none.
    let defaultValue: JSON?

    /// The conditions on which a required param may be absent or empty.
    let exemptions: [Exemption]

    /// A description in one sentence.
    let summary: String

    /// The rules for absence and null.
    enum Requirement: Sendable {
        /// The param must be present and not null.
        case required
        /// The param must be present. Null is a value.
        case requiredOrNull
        /// The param may be absent. Null means absent.
        case optional
        /// The param may be absent, which keeps the stored value. Null clears it.
        case clearable
        /// The param may be absent. Null is a value.
        case optionalOrNull
        /// The param may be absent, but not null.
        case optionalNotNull
    }

    /// Another param, and its values that make the exception.
    struct Exemption: Sendable {
        let parameter: String
        let values: [JSON]
    }

    /// Creates a required param.
    init(_ name: String, _ type: ParameterType, unless exemptions: [Exemption] = [], _ summary: String) {
        self.init(name, type, .required, nil, exemptions, summary)
    }

    init(
        _ name: String, _ type: ParameterType, _ requirement: Requirement, default defaultValue: JSON? = nil,
        _ summary: String
    ) {
        self.init(name, type, requirement, defaultValue, [], summary)
    }

    private init(
        _ name: String, _ type: ParameterType, _ requirement: Requirement, _ defaultValue: JSON?,
        _ exemptions: [Exemption],
        _ summary: String
    ) {
        self.name = name
        self.type = type
        self.requirement = requirement
        self.defaultValue = defaultValue
        self.exemptions = exemptions
        self.summary = summary
    }

    var isRequired: Bool {
        switch requirement {
        case .required, .requiredOrNull: true
        case .optional, .clearable, .optionalOrNull, .optionalNotNull: false
        }
    }

    /// True if null is accepted, as a value or for absence.
    var acceptsNull: Bool {
        switch requirement {
        case .requiredOrNull, .optional, .optionalOrNull, .clearable: true
        case .required, .optionalNotNull: false
        }
    }
}

extension [Parameter] {
    var names: [String] { map(\.name) }

    func contains(_ name: String) -> Bool { index(of: name) != nil }

    func index(of name: String) -> Int? { firstIndex { $0.name == name } }
}

/// Two params that exclude each other.
struct Alternatives: Sendable {
    let first: String
    let second: String

    /// True if one of them must be given.
    let isRequired: Bool
}
