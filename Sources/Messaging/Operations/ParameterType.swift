/// What a param's value is, and its bounds.
indirect enum ParameterType: Sendable {
    case string(TextRule, heldBy: Holder = .server)
    case integer(ClosedRange<Int64>)
    /// Fractions included.
    case number(ClosedRange<Double>)
    case bool
    case uuid
    /// A list of so many of them.
    case uuids(ClosedRange<Int>)
    /// An object of the client's own, or one whose members the database holds to their rules.
    case object(maxBytes: Int? = nil, members: [Parameter] = [])
    /// An object whose members are held to their declarations as params are.
    case fields([Parameter])

    /// Who refuses a string that breaks its rule. That it is a string is held before the database is asked.
    enum Holder: Sendable {
        case server
        /// It knows the form in which texts are stored, or what it is to be compared with.
        case database
    }
}

/// What a string may be.
enum TextRule: Sendable {
    case any
    /// So many Unicode code points.
    case characters(ClosedRange<Int>)
    /// So many bytes of UTF-8.
    case bytes(ClosedRange<Int>)
    case choice([String])
    /// An email address.
    case email
    /// An https address of so many bytes at most.
    case httpsURL(maxBytes: Int)
    /// A BCP 47 tag.
    case languageTag
    /// An E.164 number.
    case phoneNumber
    /// `YYYY-MM-DD`
    case date
    /// RFC 3339, from 1970 to 9999.
    case timestamp
    case username
}
