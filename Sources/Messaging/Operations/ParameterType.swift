/// The type and bounds of a param's value.
indirect enum ParameterType: Sendable {
    case string(TextRule, validatedBy: Validator = .server)
    case integer(ClosedRange<Int64>)
    /// A number, with or without fraction.
    case number(ClosedRange<Double>)
    case bool
    case uuid
    /// A list of this many UUIDs.
    case uuids(ClosedRange<Int>)
    /// An object whose members are not checked here: the client's own, or one that the database validates.
    case object(maxBytes: Int? = nil, members: [Parameter] = [])
    /// A list of this many objects whose members are not checked here, as in `object`.
    case objects(ClosedRange<Int>, members: [Parameter])
    /// An object whose members are checked like params.
    case fields([Parameter])

    /// The validator of a text's rule. The server checks in any case that the value is a string.
    enum Validator: Sendable {
        case server
        /// The rule depends on stored data or on the stored form of the text.
        case database
    }
}

/// The rule for a string.
enum TextRule: Sendable {
    case any
    /// A length in Unicode code points.
    case characters(ClosedRange<Int>)
    /// A length in bytes of UTF-8.
    case bytes(ClosedRange<Int>)
    case choice([String])
    /// An email address.
    case email
    /// An https URL of at most this many bytes.
    case httpsURL(maxBytes: Int)
    /// A BCP 47 language tag.
    case languageTag
    /// An E.164 phone number.
    case phoneNumber
    /// A date `YYYY-MM-DD`.
    case date
    /// A time in RFC 3339, from 1970 to 9999.
    case timestamp
    case username
    /// One emoji, or a name of `a-z 0-9 _ + -`, of at most 32 bytes.
    case reaction
}
