/// One param of a method, or one member of a param that is an object of fields: the one declaration of it.
///
/// What refuses a request, what suggests a name, the table of `docs/protocol.md` and the OpenAPI document all read it.
struct Parameter: Sendable {
    /// The canonical name.
    let name: String

    let type: ParameterType
    let presence: Presence

    /// What counts where it is absent; nil where there is no such value.
    let standard: JSON?

    /// When it may be absent or empty all the same.
    let exemption: Exemption?

    /// One sentence.
    let summary: String

    /// Whether it must be there, and what null says.
    enum Presence: Sendable {
        case required
        /// It must be there, and null is one of its values.
        case requiredOrNull
        /// Null is as good as absent.
        case optional
        /// Absent leaves what is stored, null clears it.
        case clearable
        /// It may be absent, and null is one of its values.
        case optionalOrNull
        /// It may be absent, and is never null.
        case optionalNotNull
    }

    /// Another param, and the value of it that makes an exception.
    struct Exemption: Sendable {
        let parameter: String
        let value: String
    }

    /// One that must be there.
    init(_ name: String, _ type: ParameterType, unless exemption: Exemption? = nil, _ summary: String) {
        self.init(name, type, .required, nil, exemption, summary)
    }

    init(
        _ name: String, _ type: ParameterType, _ presence: Presence, default standard: JSON? = nil, _ summary: String
    ) {
        self.init(name, type, presence, standard, nil, summary)
    }

    private init(
        _ name: String, _ type: ParameterType, _ presence: Presence, _ standard: JSON?, _ exemption: Exemption?,
        _ summary: String
    ) {
        self.name = name
        self.type = type
        self.presence = presence
        self.standard = standard
        self.exemption = exemption
        self.summary = summary
    }

    var isRequired: Bool {
        switch presence {
        case .required, .requiredOrNull: true
        case .optional, .clearable, .optionalOrNull, .optionalNotNull: false
        }
    }

    /// Whether null is taken, as a value or for absent.
    var takesNull: Bool {
        switch presence {
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

/// Two params of which one request has one at most.
struct Alternatives: Sendable {
    let first: String
    let second: String

    /// Whether one of them must be there.
    let isRequired: Bool
}
